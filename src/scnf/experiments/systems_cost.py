"""What one flow per class costs against SCNF, by the number of classes: parameters, a step of training, and memory.

Each is measured in a process of its own, ``python -m scnf.experiments.systems_cost SYSTEM K``.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scnf.evaluation.records import write_record

COMPARED = ("scnf", "flow-per-class")
COUNTS = (1, 10, 100)
SHAPE, LEVELS, BATCH = (1, 8, 8), 17, 64
_STEPS = 3


def measured_costs(folder: Path, anew: bool) -> list[dict[str, Any]]:
    """Return what is in ``cost.json``; if that is not there, it is measured, unless that was not asked for."""
    path = folder / "cost.json"
    if path.is_file():
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return rows
    if not anew:
        return []
    rows = [_in_a_process(system, classes) for classes in COUNTS for system in COMPARED]
    write_record(path, {"experiment": "systems-cost", "batch": BATCH, "rows": rows})
    return rows


def _in_a_process(system: str, classes: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "scnf.experiments.systems_cost", system, str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def cost_of(system: str, classes: int) -> dict[str, Any]:
    """Return parameters, the CPU time of a training step on unlabelled digits, and the peak memory of this process."""
    import torch  # noqa: PLC0415 (the parent has no use for it here)

    from scnf.baselines.systems import SYSTEMS  # noqa: PLC0415
    from scnf.benchmarks.memory import peak_mib  # noqa: PLC0415
    from scnf.recipes.build import build_model  # noqa: PLC0415
    from scnf.recipes.schema import ModelSpec  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.manual_seed(0)
    spec = ModelSpec.model_validate(SYSTEMS[system].make(None, 0).settings(SHAPE)["model"])
    model = build_model(spec, SHAPE, classes)
    x = torch.rand(BATCH, *SHAPE)
    model.initialize(x, torch.arange(BATCH) % classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    times = []
    for _ in range(_STEPS):
        started = time.process_time()  # of one thread: other work on the machine does not count
        optimizer.zero_grad(set_to_none=True)
        (-model.log_prob(x).mean()).backward()
        optimizer.step()
        times.append(1000 * (time.process_time() - started))
    return {
        "system": system,
        "classes": classes,
        "parameters": sum(p.numel() for p in model.parameters()),
        "step_ms": statistics.median(times),
        "memory_mib": peak_mib(),
    }


if __name__ == "__main__":
    print(json.dumps(cost_of(sys.argv[1], int(sys.argv[2]))))
