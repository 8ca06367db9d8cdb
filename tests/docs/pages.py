"""The pages that people read, and what they are made of."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, *languages: str) -> list[str]:
    """Return the code blocks of a page in some languages."""
    return [match["text"] for match in _BLOCK.finditer(page) if match["language"] in languages]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
