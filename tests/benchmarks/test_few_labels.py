import json
from pathlib import Path

import numpy as np
import pytest

from scnf.baselines.sklearn import COMPARED
from scnf.benchmarks import few_labels
from scnf.benchmarks.few_labels import LABELS, TABLE, FewLabels, load_rows, plan, run, run_one
from scnf.benchmarks.few_labels_page import block, page
from scnf.errors import UserError
from scnf.estimator import fitting
from scnf.evaluation.records import read_record, write_record
from scnf.evaluation.tables import block_is_current
from tests.cli.conftest import invoke, invoke_json, refusal


@pytest.mark.parametrize(
    ("data", "labels", "shape"),
    [("digits", 100, (8, 8)), ("breast-cancer", 20, (30,)), ("wine", 15, (13,))],
)
def test_splits_keep_as_many_labels_of_each_class(data, labels, shape):
    split = load_rows(data, labels, seed=3)
    assert split.x_train.shape[1:] == shape
    assert len(split.x_test) == pytest.approx(len(split.x_train) / 2, abs=2)
    kept = np.bincount(split.y_train[split.y_train >= 0])
    assert set(kept.tolist()) == {labels // len(split.classes)}


def test_the_table_comes_first():
    tasks = plan(Path("out"), splits=2)
    assert [(task.data, task.labels) for task in tasks[:8]] == [*TABLE, *TABLE]
    assert len(tasks) == len({task.path for task in tasks}) == 2 * (sum(map(len, LABELS.values())))


@pytest.fixture
def wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FewLabels:
    """A wine split whose recipe trains in a moment."""
    original = fitting.recipe_for

    def short(data, settings):
        recipe = original(data, settings)
        return recipe.model_copy(update={"training": recipe.training.model_copy(update={"steps": 2})})

    monkeypatch.setattr(fitting, "recipe_for", short)
    monkeypatch.setattr(few_labels, "recipe_for", short)
    task = FewLabels("wine", 15, 0, tmp_path / "labels")
    assert not task.is_done()
    run_one(task, lambda share: None)
    return task


def test_a_split_with_its_record_is_done(wine, monkeypatch):
    record = read_record(wine.path)
    assert record["data"] == {"name": "wine", "labels": 15, "seed": 0}
    assert record["metrics"]["error"] < 30
    assert record["baselines"].keys() == COMPARED.keys()
    assert sum(record["reliability"]["after"]["rows"]) == 60
    assert wine.is_done()
    write_record(wine.path, {**record, "recipe": {**record["recipe"], "training": {"steps": 77}}})
    assert not wine.is_done()


def test_page_and_plots_are_made_from_the_records(wine, monkeypatch):
    monkeypatch.setattr(few_labels, "run_tasks", lambda *more: iter([(0, ValueError("no luck"))]))
    told = []
    summary = run(wine.folder.parent, splits=1, say=told.append)
    assert summary["failures"] == ["digits with 100 labels, seed 0: no luck"]
    assert told[0] == "1 of 9 fits have their record already"
    assert [row[:2] for row in summary["table"]["rows"]] == [["wine", "15"]]
    page = (wine.folder / "labels.md").read_text()
    assert f"| wine | 15 | {read_record(wine.path)['metrics']['error']:.2f} |" in page
    assert (wine.folder / "labels.png").read_bytes()[:4] == b"\x89PNG"


def test_the_command_renders_and_refuses(wine):
    out = wine.folder.parent
    told = invoke_json("bench", "labels", "--render", "--out", out)
    assert told["table"]["rows"][0][0] == "wine"
    assert "labels.md" in invoke("bench", "labels", "--render", "--out", out).stdout.replace("\n", "")
    assert json.loads(wine.path.read_text())["experiment"] == "labels"
    assert "holds no record" in refusal("bench", "labels", "--render", "--out", out / "nothing")


def test_nothing_to_render_is_told(tmp_path):
    with pytest.raises(UserError, match="holds no record"):
        run(tmp_path, render_only=True)


def test_readme_and_page_say_what_the_records_say():
    root = Path(__file__).parents[2]
    tasks = plan(root / "results")
    assert block_is_current(root / "README.md", "labels", block(tasks))
    assert (root / "results" / "labels" / "labels.md").read_text("utf-8") == page(tasks)
