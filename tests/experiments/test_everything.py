"""All items at once: what is recorded of each, one page about them, and what disagrees with the records."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from scnf.errors import UserError
from scnf.experiments import EXPERIMENTS, Item, Options, everything
from scnf.experiments.everything import all_outdated, index_page, run_all, status_of, write_index
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.running import run_fit
from scnf.experiments.study import Row, Study, plan


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch):
    """Return a function that makes modules the only experiments there are."""

    def register(**modules) -> None:
        for name in EXPERIMENTS.copy():
            monkeypatch.delitem(EXPERIMENTS, name)
        for name in modules:
            monkeypatch.setitem(EXPERIMENTS, name, Item("", name.title(), f"The claim of {name}."))
        monkeypatch.setattr(everything, "load_experiment", modules.__getitem__)

    return register


def said(number: float) -> Rendered:
    summary = {"experiment": "one", "rows": [number]}
    return Rendered(summary, f"# One\n\n{number}\n", f"**It holds**: {number}.", ["error"], [[str(number)]])


def test_recorded_stale_and_missing_are_counted(tmp_path: Path, tiny_recipe, items):
    study = Study("one", (Row("a", tiny_recipe("a")),), ("moons",), labels=10, splits=2)
    items(one=SimpleNamespace(plan=lambda options: plan(study, options)))
    options = Options(out=tmp_path)
    assert status_of("one", options) == {
        "status": "missing", "wanted": 2, "recorded": 0, "stale": 0, "missing": 2, "cpu_hours": None,
        "cpu_hours_left": None,
    }  # fmt: skip
    run_fit(plan(study, options)[0], lambda share: None)
    found = status_of("one", options)
    assert (found["status"], found["recorded"], found["missing"]) == ("missing", 1, 1)
    assert found["cpu_hours"] is not None
    only = status_of("one", replace(options, splits=1))
    assert (only["status"], only["cpu_hours_left"]) == ("recorded", 0)
    tiny_recipe("a", steps=3)
    found = status_of("one", options)
    assert (found["status"], found["recorded"], found["stale"], found["missing"]) == ("stale", 0, 1, 1)


def test_hours_go_by_the_time_that_fits_have(tmp_path: Path, tiny_recipe, items):
    study = Study("one", (Row("a", tiny_recipe("a")),), ("moons",), labels=10, splits=4, minutes=30.0)
    items(one=SimpleNamespace(plan=lambda options: plan(study, options)))
    assert status_of("one", Options(out=tmp_path))["cpu_hours"] == 2


def test_a_number_that_is_not_of_the_records_is_found_on_every_page(tmp_path: Path, items, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme, docs = tmp_path / "README.md", tmp_path / "docs" / "reproduce.md"
    docs.parent.mkdir()
    readme.write_text("<!-- one:start -->\n<!-- one:end -->\n")
    docs.write_text("<!-- items:start -->\n<!-- items:end -->\n")
    records = {"one": 1.5}
    items(
        one=SimpleNamespace(plan=lambda options: [], rendered=lambda out: said(records["one"])),
        two=SimpleNamespace(plan=lambda options: [], rendered=lambda out: None),
    )
    write(said(1.5), Path("results/one"), block_page=Path("README.md"))
    write_index(Path("results"))
    assert all_outdated(tmp_path) == []
    page = (tmp_path / "results" / "README.md").read_text()
    assert "*Here:* **It holds**: 1.5." in page
    assert "Not recorded yet; `scnf reproduce two` makes it." in page

    records["one"] = 1.6
    wrong = [sentence.split()[0] for sentence in all_outdated(tmp_path)]
    assert wrong == ["results/one/table.md", "results/one/table.json", "README.md", "results/README.md"]
    docs.write_text("<!-- items:start -->\nold\n<!-- items:end -->\n")
    assert "docs/reproduce.md does not say what the records say" in all_outdated(tmp_path)[-1]


def test_one_that_cannot_be_made_does_not_stop_the_others(tmp_path: Path, items):
    def refuse(options):
        raise UserError("it needs a model")

    done = {"files": ["table.md"], "failures": ["a on moons, seed 0: it diverged"], "verdicts": ["It holds."]}
    plans = {"plan": lambda options: []}
    items(
        first=SimpleNamespace(run=refuse, rendered=lambda out: None, **plans),
        second=SimpleNamespace(run=lambda options: done, rendered=lambda out: said(1.0), **plans),
    )
    summary = run_all(Options(out=tmp_path))
    assert summary["failures"] == ["first: it needs a model", "second: a on moons, seed 0: it diverged"]
    assert summary["files"] == ["table.md"]
    assert summary["verdicts"][0] == "second: It holds."
    assert list(summary["items"]) == ["first", "second"]
    rendered = run_all(Options(out=tmp_path, render_only=True))
    assert len(rendered["failures"]) == 1, "what has no record is not rendered"


def test_the_page_is_there_before_any_record(tmp_path: Path):
    page = index_page(tmp_path)
    assert page.count("Not recorded yet") == len(EXPERIMENTS)
    assert all(f"`scnf reproduce {name}`" in page for name in EXPERIMENTS)
