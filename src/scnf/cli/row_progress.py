"""The live progress of a pass over many rows."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 5.0


class RowProgress:
    """Shows how many rows are done on stderr; a plain line now and then where that is no terminal.

    Nothing is shown of a pass that one batch completes.
    """

    def __init__(self, console: Console | None = None):
        self.console = console or Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("rows"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task: TaskID | None = None
        self.told = time.monotonic()

    def __enter__(self) -> "RowProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Take in the rows that are done, as ``scnf.evaluate`` reports them."""
        if self.bar.disable:
            if time.monotonic() - self.told >= _SECONDS_BETWEEN_LINES and done < total:
                self.told = time.monotonic()
                self.console.print(f"{done:,} of {total:,} rows")
            return
        if self.task is None:
            if done == total:
                return
            self.bar.start()
            self.task = self.bar.add_task("", total=total)
        self.bar.update(self.task, completed=done)
