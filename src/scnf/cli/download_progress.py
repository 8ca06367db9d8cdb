"""The live progress of a download."""

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class DownloadProgress:
    """Shows files and their bytes on stderr; one plain line for each file where that is no terminal.

    Nothing is shown before the first bytes arrive.
    """

    def __init__(self, quiet: bool = False):
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "DownloadProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, file: str, done: int, total: int) -> None:
        """Take in the bytes of a file, as ``scnf.data`` reports them."""
        if self.bar.disable:
            if done == total:
                self.console.print(f"{file}: {done / 1e6:.1f} MB downloaded")
            return
        if file not in self.tasks:
            self.bar.start()
            # Bytes of an earlier session count as done, not as speed.
            self.tasks[file] = self.bar.add_task(file, total=total or None, completed=done)
        self.bar.update(self.tasks[file], total=total or None, completed=done)
