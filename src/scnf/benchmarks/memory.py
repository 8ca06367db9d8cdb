"""Peak memory of a process that does one thing, measured from outside: ``python -m scnf.benchmarks.memory``."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Literal

Work = Literal["nothing", "training", "inference"]


def peak_memory(recipe_name: str, batch_size: int, work: Work) -> float:
    """Return the largest resident size, in MiB, of a process that builds the model and does two steps of the work."""
    command = [sys.executable, "-m", "scnf.benchmarks.memory", recipe_name, str(batch_size), work]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def peak_of_command(*arguments: str) -> float:
    """Return the largest resident size, in MiB, of a process that runs ``scnf`` with these arguments."""
    program = (
        "import sys; from scnf.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        "from scnf.benchmarks.memory import peak_mib; print(peak_mib())"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def _main(recipe_name: str, batch_size: int, work: str) -> None:
    # Here, so that what only asks for its peak does not load torch for it.
    from scnf.benchmarks.workload import inference_only, workload  # noqa: PLC0415

    if work == "training":
        task = workload(recipe_name, batch_size).train
    else:
        task = inference_only(recipe_name, batch_size)
    if work != "nothing":
        task(), task()
    print(json.dumps(peak_mib()))


def peak_mib() -> float:
    """Return the largest resident size of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Not ru_maxrss: on Linux a new process starts with the peak of the one that started it.
        (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts in bytes


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
