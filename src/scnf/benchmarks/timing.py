"""Timing that is fair on a machine whose speed wanders: tasks take turns, and ratios are taken turn by turn."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

Task = Callable[[], object]


def interleaved(tasks: Mapping[str, Task], blocks: int, block_seconds: float) -> dict[str, list[float]]:
    """Return the seconds a call of each task in each block; a block repeats a task for about ``block_seconds``.

    Every task is called once before, which warms it up and tells how often a block repeats it.
    """
    calls = {}
    for name, task in tasks.items():
        task()
        calls[name] = max(1, round(block_seconds / max(_time(task, 1), 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(blocks):
        for name, task in tasks.items():
            times[name].append(_time(task, calls[name]))
    return times


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median over the blocks of above / below."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def _time(task: Task, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        task()
    return (time.perf_counter() - started) / calls
