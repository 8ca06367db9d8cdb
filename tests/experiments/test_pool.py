import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from scnf.experiments.pool import one_thread, run_tasks
from tests.helpers import wait_for_end


def square(number: int, report) -> tuple[int, int]:
    report(0.5)
    if number < 0:
        raise ValueError("a negative number")
    return number**2, torch.get_num_threads()


def nap(seconds: float, report) -> float:
    time.sleep(seconds)
    return seconds


def test_results_progress_and_failures_come_back():
    seen = []
    outcomes = dict(run_tasks(square, [3, -1, 4], 1, lambda index, share: seen.append((index, share))))
    assert outcomes[0] == (9, 1)
    assert outcomes[2] == (16, 1)
    assert isinstance(outcomes[1], ValueError)
    assert set(seen) <= {(0, 0.5), (1, 0.5), (2, 0.5)}


def test_no_tasks_start_no_process():
    assert list(run_tasks(square, [], 2)) == []


def test_one_thread_gives_the_threads_back():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from scnf.experiments.pool import run_tasks

def work(folder, report):
    Path(folder, "pid").write_text(str(os.getpid()))
    time.sleep(60)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
    list(run_tasks(work, [sys.argv[1]], 1))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_workers_end_when_the_main_process_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    main = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    pid = wait_for_pid(tmp_path / "pid")
    main.send_signal(signal.SIGKILL)
    main.wait()
    wait_for_end(pid)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_to_the_main_process_alone_ends_everything(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    main = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stderr=subprocess.PIPE, text=True)
    pid = wait_for_pid(tmp_path / "pid")
    main.send_signal(signal.SIGINT)
    _, told = main.communicate(timeout=30)  # the task itself takes 60 seconds
    assert told.strip().endswith("KeyboardInterrupt")
    wait_for_end(pid)


def test_who_has_seen_enough_ends_the_tasks(tmp_path):
    started = time.monotonic()
    outcomes = run_tasks(nap, [0.0, 60.0], 2)
    assert next(outcomes) == (0, 0.0)
    outcomes.close()
    assert time.monotonic() - started < 30


def wait_for_pid(path: Path) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.is_file() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError("the worker did not start")
