"""The live progress of a fit, and stopping it between two steps."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_SECONDS_BETWEEN_UPDATES = 0.1
_PLAIN_LINES = 10


class FitProgress:
    """Shows restart, step, loss and the time left on stderr; a few plain lines where that is no terminal."""

    def __init__(self, steps: int, restarts: int, quiet: bool = False):
        self.steps, self.restarts = steps, restarts
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.bar = Progress(
            TextColumn("restart {task.fields[restart]}/{task.fields[restarts]}"),
            BarColumn(),
            TextColumn("step {task.fields[step]}/{task.fields[steps]}  loss {task.fields[loss]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
        )
        self.task: TaskID | None = None
        self.updated = -math.inf
        self.printed = 0

    def __enter__(self) -> "FitProgress":
        self.bar.start()
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
        fields: dict[str, Any] = {
            "restart": restart + 1,
            "step": step,
            "loss": "–" if math.isnan(loss) else f"{loss:.3f}",
        }
        if self.bar.disable:
            self._print_line(int(done * _PLAIN_LINES), fields)
        elif self.task is None:
            # Steps of an earlier session count as done, not as speed.
            self.task = self.bar.add_task(
                "", total=total, completed=completed, restarts=self.restarts, steps=self.steps, **fields
            )
        else:
            self.bar.update(self.task, completed=completed, **fields)

    def _print_line(self, part: int, fields: dict[str, Any]) -> None:
        if part > self.printed:
            self.printed = part
            restart, step, loss = fields["restart"], fields["step"], fields["loss"]
            self.console.print(f"restart {restart}/{self.restarts}  step {step}/{self.steps}  loss {loss}")


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
