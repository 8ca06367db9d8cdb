"""Tasks in worker processes of one thread each, with progress."""

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Report = Callable[[float], None]
_SECONDS_BETWEEN_REPORTS = 0.2

_shares: Any = None  # a worker's way to tell its progress


def run_tasks(
    function: Callable[[T, Report], R],
    tasks: Sequence[T],
    jobs: int,
    on_progress: Callable[[int, float], None] = lambda index, share: None,
) -> Iterator[tuple[int, R | Exception]]:
    """Call ``function(task, report)`` for every task in ``jobs`` processes; yield (index, result) as they finish.

    ``function`` reports the share that it has done; ``on_progress`` is told the task's index and that share. An
    exception is yielded in place of a result, so one task that fails does not end the others.
    """
    if not tasks:
        return
    context = multiprocessing.get_context("spawn")
    shares = context.Queue()
    workers = min(max(jobs, 1), len(tasks))
    with ProcessPoolExecutor(workers, context, _start_worker, (shares,)) as pool:
        futures: dict[Future[R], int] = {
            pool.submit(_call, function, task, index): index for index, task in enumerate(tasks)
        }
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, _SECONDS_BETWEEN_REPORTS, FIRST_COMPLETED)
                for index, share in _drain(shares):
                    on_progress(index, share)
                for future in done:
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield futures[future], error if error is not None else future.result()
        finally:
            # Whoever stops here early waits for nobody: Ctrl-C may have reached this process alone.
            for worker in list(pool._processes.values()) if waiting else ():
                worker.terminate()
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread for a while: drawing is many small steps, which more threads make slower, not faster."""
    import torch  # noqa: PLC0415

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _drain(shares: Any) -> Iterator[tuple[int, float]]:
    while True:
        try:
            yield shares.get_nowait()
        except queue.Empty:
            return


def _start_worker(shares: Any) -> None:
    global _shares  # noqa: PLW0603 (an initialiser has no other way to hand something to later calls)
    _shares = shares
    # Set before the first import of a library that reads it.
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a traceback
    threading.Thread(target=_end_with_parent, daemon=True).start()

    import torch  # noqa: PLC0415

    torch.set_num_threads(1)


def _end_with_parent() -> None:
    """End this worker when the main process is gone; it would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(function: Callable[[T, Report], R], task: T, index: int) -> R:
    last = 0.0

    def report(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _SECONDS_BETWEEN_REPORTS:
            last = now
            _shares.put((index, share))

    return function(task, report)
