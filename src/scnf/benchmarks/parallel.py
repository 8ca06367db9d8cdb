"""Two processes that share every batch against one with two threads: images a second of training."""

import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, field

from scnf.benchmarks.workload import images
from scnf.recipes import load_recipe
from scnf.training import fit

# Steps before which the processes start, and buffers and caches fill.
_WARM_UP = 3


class _EnoughError(KeyboardInterrupt):
    """Ends a fit, as Ctrl-C does."""


@dataclass
class _Stopwatch:
    """Notes when each step ends, and ends the fit after so many."""

    steps: int
    ends: list[float] = field(default_factory=list)

    def __call__(self, restart: int, step: int, loss: float, done: float) -> None:
        self.ends.append(time.perf_counter())
        if len(self.ends) == self.steps:
            raise _EnoughError

    def seconds_a_step(self) -> float:
        """Return the median step after the first few."""
        return statistics.median(b - a for a, b in zip(self.ends[_WARM_UP:], self.ends[_WARM_UP + 1 :], strict=False))


def images_per_second(recipe_name: str, batch_size: int, devices: int, steps: int) -> float:
    """Return the speed of a recipe's training on so many processes; one process uses all threads that torch has."""
    # The first of very many steps: so none but the very first is a point of the curve, which looks at more rows.
    settings = {"training.batch_size": batch_size, "training.steps": 1_000_000, "training.max_minutes": 1e9}
    data = images(rows=4 * batch_size, labelled=batch_size)
    watch = _Stopwatch(steps + _WARM_UP + 1)
    with suppress(_EnoughError):
        fit(load_recipe(recipe_name, settings), data, devices=devices, on_step=watch)
    return batch_size / watch.seconds_a_step()


def measure(recipe_name: str, batch_size: int, rounds: int, steps: int) -> dict[str, float]:
    """Return images/s of one process and of two, and the median of the ratios; the two take turns."""
    one, two = [], []
    for _ in range(rounds):
        one.append(images_per_second(recipe_name, batch_size, 1, steps))
        two.append(images_per_second(recipe_name, batch_size, 2, steps))
    ratio = statistics.median(b / a for a, b in zip(one, two, strict=True))
    return {
        "one_process_images_per_second": statistics.median(one),
        "two_processes_images_per_second": statistics.median(two),
        "two_processes_over_one": ratio,
    }
