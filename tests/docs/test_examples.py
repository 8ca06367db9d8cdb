"""The Python of the pages runs as it stands: all blocks of a page, in order, in an empty folder."""

from pathlib import Path

import pytest

from scnf.training.schedule import Pace
from tests.docs.pages import PAGES, blocks, name_of

WITH_PYTHON = [page for page in PAGES if blocks(page.read_text("utf-8"), "python")]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, no_data: Path, small_images: Path, monkeypatch: pytest.MonkeyPatch):
    # Examples show whole trainings; three steps tell as well whether they run.
    monkeypatch.setattr(Pace, "progress", lambda self, step: min(1.0, step / 3))
    (no_data / "data").symlink_to(small_images)
    code = "\n".join(blocks(page.read_text("utf-8"), "python"))
    exec(compile(code, name_of(page), "exec"), {"__name__": "example"})


def test_the_pages_have_examples():
    assert {"README.md", "docs/hiding.md", "docs/your-table.md"} <= set(map(name_of, WITH_PYTHON))
