"""``scnf fit --devices``: a run of several processes is killed as one and goes on with any number of them."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from scnf.runs import CHECKPOINT_FILE, METRICS_FILE
from tests.cli.conftest import fit_options, invoke, invoke_json
from tests.cli.test_resume import PROGRAM, kill
from tests.helpers import wait_for_end

_SMALL = ["--set", "model.f.hidden=8", "--set", "model.h.hidden=8", "--set", "training.steps=60"]


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    stats = [path.read_text().rpartition(")") for path in Path("/proc").glob("[0-9]*/stat")]
    return [int(name.partition(" ")[0]) for name, _, rest in stats if int(rest.split()[1]) == pid]


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="looks for processes in /proc")
def test_a_kill_ends_all_processes_and_the_run_goes_on(folder: Path):
    one = invoke_json(*fit_options("--out", "one", *_SMALL))
    options = fit_options("--out", "two", *_SMALL, "--devices", 2)
    program = subprocess.Popen([*PROGRAM, *options, "--checkpoint-every", "0"])
    while not (folder / "two" / CHECKPOINT_FILE).is_file() and program.poll() is None:
        time.sleep(0.01)
    workers = children(program.pid)
    kill(program)
    assert len(workers) == 1
    wait_for_end(workers[0])
    assert not (folder / "two" / METRICS_FILE).exists()

    two = invoke_json("fit", "--out", "two", "--resume", "--quiet", "--devices", 2)
    for name in ("objective", "nll"):
        assert two[name] == pytest.approx(one[name], rel=1e-3)
    curves = [json.loads((folder / name / "history.json").read_text())["history"] for name in ("one", "two")]
    for a, b in zip(*curves, strict=True):
        # No rows are kept aside, and one row that is told otherwise is a whole step of the error.
        points = [{**point, "held_out": 0, "labelled_error": 0} for point in (a, b)]
        assert points[0] == pytest.approx(points[1], rel=1e-2)


def test_ctrl_c_stops_all_processes(folder: Path):
    options = fit_options("--out", "run", "--set", "training.steps=100000", "--devices", 2)
    program = subprocess.Popen([*PROGRAM, *options, "--checkpoint-every", "0"], stderr=subprocess.PIPE, text=True)
    while not (folder / "run" / CHECKPOINT_FILE).is_file() and program.poll() is None:
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    assert program.communicate()[1] == "stopped; `scnf fit --out run --resume` goes on from here\n"
    assert program.returncode == 130


def test_the_number_of_devices_is_at_least_one(folder: Path):
    assert invoke(*fit_options("--out", "run", "--devices", 0)).exit_code == 2
    assert list(folder.iterdir()) == []
