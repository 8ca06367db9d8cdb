"""Tables in markdown, and pages whose tables are kept equal to the records."""

import statistics
from collections.abc import Sequence
from pathlib import Path


def mean_std(values: Sequence[float], digits: int = 2) -> str:
    """Return "mean ± standard deviation" (n − 1), or the plain number where there is only one.

    Example:
        >>> mean_std([1.0, 2.0, 3.0]), mean_std([0.5]), mean_std([])
        ('2.00 ± 1.00', '0.50', '–')
    """
    if not values:
        return "–"
    mean = statistics.fmean(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a markdown table; the first ``left`` columns are aligned left, the others right.

    Example:
        >>> print(markdown_table(["model", "error"], [["a", "1.5"]]))
        | model | error |
        |:---|---:|
        | a | 1.5 |
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row has {len(row)} cells, the header {len(header)}: {row}")
    rule = "|" + "|".join(":---" if i < left else "---:" for i in range(len(header))) + "|"
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}:start -->", f"<!-- {name}:end -->"


def _parts(path: Path, name: str) -> tuple[str, str, str] | None:
    """Return what stands before, in and after a block, markers with the outer parts; None where there is no block."""
    if not path.is_file():
        return None
    start, end = _markers(name)
    before, opened, rest = path.read_text(encoding="utf-8").partition(start)
    block, closed, after = rest.partition(end)
    return (before + start, block, end + after) if opened and closed else None


def read_block(path: Path, name: str) -> str | None:
    """Return the text between ``<!-- name:start -->`` and ``<!-- name:end -->``; None without such a block."""
    parts = _parts(path, name)
    return None if parts is None else parts[1].strip()


def update_block(path: Path, name: str, markdown: str) -> bool:
    """Replace the text of a block and return whether the file has it; the rest of the file stays as it is."""
    parts = _parts(path, name)
    if parts is None:
        return False
    text = f"{parts[0]}\n{markdown.strip()}\n{parts[2]}"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")
    return True


def block_is_current(path: Path, name: str, markdown: str) -> bool:
    """Return whether a file's block says what was rendered from the records."""
    return read_block(path, name) == markdown.strip()
