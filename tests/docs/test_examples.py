"""The Python of the pages runs as it stands, all blocks of a page, in order, in an empty folder; so do the commands of
those pages that people begin with.
"""

import shlex
from pathlib import Path

import pytest

from scnf.evaluation import calibration
from scnf.training.schedule import Pace
from tests.cli.conftest import invoke
from tests.docs.pages import PAGES, ROOT, blocks, name_of

WITH_PYTHON = [page for page in PAGES if blocks(page.read_text("utf-8"), "python")]


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples show whole trainings; three steps, and two quick fits to calibrate by, tell as well whether they run."""
    monkeypatch.setattr(Pace, "progress", lambda self, step: min(1.0, step / 3))
    monkeypatch.setattr(calibration, "_FOLDS_OF_STARTS", 2)
    monkeypatch.setattr(calibration, "_FOLDS_OF_RUNS", 2)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, no_data: Path, small_images: Path):
    (no_data / "data").symlink_to(small_images)
    code = "\n".join(blocks(page.read_text("utf-8"), "python"))
    exec(compile(code, name_of(page), "exec"), {"__name__": "example"})


@pytest.mark.usefixtures("_short", "no_data")
@pytest.mark.parametrize(
    ("page", "writes"), [("get-started", []), ("your-table", [0]), ("your-images", [0]), ("hiding", [0, 1])]
)
def test_the_commands_of_a_page_run(page: str, writes: list[int]):
    """Some pages make the files of their commands themselves, in these blocks of Python; reports take too long."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    exec("\n".join(blocks(text, "python")[i] for i in writes), {})
    lines = [shlex.split(line, comments=True) for block in blocks(text, "sh") for line in block.splitlines()]
    commands = [words[1:] for words in lines if words[:1] == ["scnf"] and words[1] != "report"]
    assert len(commands) >= 2
    for words in commands:
        result = invoke(*words)
        assert result.exit_code == 0, (words, result.output)


def test_the_pages_have_examples():
    assert {"README.md", "docs/hiding.md", "docs/your-table.md"} <= set(map(name_of, WITH_PYTHON))
