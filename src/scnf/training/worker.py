"""A process that trains along with the one that started it, see ``devices``."""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import torch

from scnf.errors import DivergedError, UserError
from scnf.training.devices import Task, connect, joined
from scnf.training.fit import fit

_SECONDS_FOR_THE_CALLER = 2


def main() -> None:
    """Take part in a fit; the arguments are those that ``devices`` gives."""
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    path, rank, devices, port = Path(sys.argv[1]), *map(int, sys.argv[2:])
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    task = Task.read(path)
    try:
        # That training diverged is told by the first process.
        with joined(connect(port, rank, devices), rank, devices) as fabric, suppress(DivergedError):
            fit(task.recipe, task.data, task.seed, task.checkpoint, task.resume, fabric=fabric)
    except UserError as error:
        # The first process finds the same, tells it and ends this one; only if it does not, it is told here.
        time.sleep(_SECONDS_FOR_THE_CALLER)
        sys.exit(f"Error in process {rank + 1} of {devices}: {error}")


def _end_with_the_caller() -> None:
    """End this process when the caller lets go of the pipe, or is gone: a collective would wait for ever."""
    os.read(0, 1)  # not sys.stdin, whose lock would be in the way when this process ends by itself
    os._exit(1)
