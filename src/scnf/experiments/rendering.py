"""What the records of an experiment say, as text: the page, the table, one line on the claim; and whether it is so."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scnf.evaluation.records import write_record
from scnf.evaluation.tables import block_is_current, markdown_table, read_block, update_block
from scnf.experiments.summary import shown

PAGE, TABLE = "table.md", "table.json"


@dataclass(frozen=True)
class Rendered:
    """All that is made from records but the figures.

    ``verdict`` says in one line whether the paper's claim holds. ``header`` and ``rows`` are the table to show beside
    other experiments', its first ``left`` columns aligned left. ``block`` is for the page of the repository that has a
    block of the experiment's name.
    """

    summary: dict[str, Any]
    page: str
    verdict: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    block_page: str = "README.md"
    block: str | None = None

    @property
    def name(self) -> str:
        """The experiment's name."""
        name: str = self.summary["experiment"]
        return name

    def table(self) -> str:
        """Return the table in markdown."""
        return markdown_table(self.header, self.rows, self.left)

    def block_text(self) -> str:
        """Return what stands in the block: the table, unless it is something else."""
        return self.table() if self.block is None else self.block


def root_of(out: Path) -> Path | None:
    """Return the folder whose README and docs tell of these results; None for a trial into another folder."""
    return Path() if out.resolve() == Path("results").resolve() else None


def write(
    rendered: Rendered, folder: Path, figures: Sequence[Path] = (), block_page: Path | None = None
) -> dict[str, Any]:
    """Write page and table, bring the block of another page up to date, and return the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    write_record(folder / TABLE, rendered.summary)
    (folder / PAGE).write_text(rendered.page, encoding="utf-8")
    updated = block_page is not None and update_block(block_page, rendered.name, rendered.block_text())
    return {
        **rendered.summary,
        "verdicts": [rendered.verdict.replace("*", "")],
        "table": shown(rendered.header, rendered.rows),
        "files": [str(path) for path in (folder / PAGE, folder / TABLE, *figures)],
        "readme_updated": updated,
    }


def outdated(rendered: Rendered, folder: Path, root: Path | None = None) -> list[Path]:
    """Return the files that do not say what the records say; below ``root`` pages with a block are looked at too."""
    wrong = []
    if _text(folder / PAGE) != rendered.page:
        wrong.append(folder / PAGE)
    if _text(folder / TABLE) != json.dumps(rendered.summary, indent=1) + "\n":
        wrong.append(folder / TABLE)
    if root is not None:
        page = root / rendered.block_page
        if read_block(page, rendered.name) is not None and not block_is_current(
            page, rendered.name, rendered.block_text()
        ):
            wrong.append(page)
    return wrong


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
