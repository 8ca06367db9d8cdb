"""A process that trains along with the one that started it, see ``devices``."""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import torch

from scnf.errors import DivergedError, UserError
from scnf.training.devices import Task, connect, joined
from scnf.training.fit import fit


def main() -> None:
    """Take part in a fit; the arguments are those that ``devices`` gives."""
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    path, rank, devices, port = Path(sys.argv[1]), *map(int, sys.argv[2:])
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    task = Task.read(path)
    # What cannot be done and that training diverged is told by the first process.
    with joined(connect(port, rank, devices), rank, devices) as fabric, suppress(UserError, DivergedError):
        fit(task.recipe, task.data, task.seed, task.checkpoint, task.resume, fabric=fabric)


def _end_with_the_caller() -> None:
    """End this process when the caller lets go of the pipe, or is gone: a collective would wait for ever."""
    sys.stdin.buffer.read()
    os._exit(1)
