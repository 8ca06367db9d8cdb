"""The live progress of a fit, and stopping it between two steps."""

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from scnf.training.record import Record

_SECONDS_BETWEEN_UPDATES = 0.1
_PLAIN_LINES = 10


def in_nats(nll: float) -> str:
    """Return a likelihood as it is shown by default."""
    return f"{nll:.3f} nats"


class FitProgress:
    """Shows where a fit stands on stderr, with the time left; a few plain lines where that is no terminal.

    ``likelihood`` tells −log p(x) of the rows that are kept aside, which the recipe may ask for; otherwise the loss is
    shown. Labelled rows that are trained on and told wrongly say little of new rows, so it is said which rows they are.
    ``before`` says what there is to do, and to wait for, before the first step.
    """

    def __init__(
        self,
        steps: int,
        restarts: int,
        quiet: bool = False,
        likelihood: Callable[[float], str] = in_nats,
        before: str = "",
    ):
        self.steps, self.restarts, self.likelihood, self.before = steps, restarts, likelihood, before
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=8),
            TextColumn("{task.fields[told]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
        )
        self.task: TaskID | None = None
        self.waiting: TaskID | None = None  # the bar until the first step
        self.last: Record | None = None
        self.updated = -math.inf
        self.printed = 0
        self.first: tuple[float, float] | None = None  # when a step was first heard of, and how far the run was

    def __enter__(self) -> "FitProgress":
        self.bar.start()
        if self.before and self.bar.disable:
            self.console.print(self.before)
        elif self.before:
            self.waiting = self.bar.add_task(self.before, total=None, told="")
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, restart: int, step: int, loss: float, done: float) -> None:
        """Take in a step, as ``scnf.fit`` reports it."""
        now = time.perf_counter()
        if now - self.updated < _SECONDS_BETWEEN_UPDATES and done < 1:
            return
        self.updated = now
        total = self.steps * self.restarts
        completed = round(done * total)
        where = f"step {step}/{self.steps}"
        if self.restarts > 1:
            where = f"start {restart + 1}/{self.restarts}  {where}"
        if self.bar.disable:
            self._print_line(int(done * _PLAIN_LINES), f"{where}  {self._told(loss)}{self._left(now, done)}")
        elif self.task is None:
            if self.waiting is not None:
                self.bar.remove_task(self.waiting)
            # Steps of an earlier session count as done, not as speed.
            self.task = self.bar.add_task(where, total=total, completed=completed, told=self._told(loss))
        else:
            self.bar.update(self.task, description=where, completed=completed, told=self._told(loss))

    def record(self, record: "Record") -> None:
        """Take in a point of the training curve."""
        self.last = record

    def stage(self, what: str) -> None:
        """Say what is done after the training."""
        if self.bar.disable:
            self.console.print(what)
        elif self.task is not None:
            self.bar.update(self.task, description=what, completed=self.steps * self.restarts, told="")

    def _told(self, loss: float) -> str:
        told = f"loss {'–' if math.isnan(loss) else f'{loss:.3f}'}"
        if self.last is not None and self.last.held_out is not None:
            told = f"held-out {self.likelihood(self.last.held_out)}"
        if self.last is not None and self.last.labelled_error is not None:
            told += f", train labels {self.last.labelled_error:.0f} % wrong"
        return told

    def _left(self, now: float, done: float) -> str:
        """Return the time left, by what was done since the first step of this session."""
        if self.first is None:
            self.first = now, done
        started, at = self.first
        if not at < done < 1:
            return ""
        return f", about {timedelta(seconds=round((now - started) * (1 - done) / (done - at)))} left"

    def _print_line(self, part: int, line: str) -> None:
        if part > self.printed:
            self.printed = part
            self.console.print(line)


class InterruptFlag:
    """Remembers that Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.is_set = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.is_set:
            raise KeyboardInterrupt


@contextmanager
def interrupt_between_steps() -> Iterator[InterruptFlag]:
    """Hold Ctrl-C back until ``check``, so that a checkpoint never sees half a step; a second Ctrl-C acts at once."""
    flag = InterruptFlag()

    def remember(number: int, frame: FrameType | None) -> None:
        if flag.is_set:
            raise KeyboardInterrupt
        flag.is_set = True

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
