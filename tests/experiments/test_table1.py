import json

import pytest

from scnf import load_recipe
from scnf.errors import UserError
from scnf.experiments import EXPERIMENTS, Options, load_experiment
from scnf.experiments import table1 as table1_module
from scnf.experiments.table1 import OURS, Row, plan, record_is_of, run, run_fit
from scnf.experiments.table1_render import full_table, readme_is_current, render, summarize
from scnf.recipes import Recipe


def fit_all(tasks):
    for task in tasks:
        run_fit(task, lambda share: None)


def test_every_registered_experiment_can_be_run():
    for name in EXPERIMENTS:
        assert callable(load_experiment(name).run)


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(UserError, match=r"unknown experiment 'table9'; known are .*table1"):
        load_experiment("table9")


def test_a_run_writes_records_table_and_figures_and_goes_on_where_it_was(tmp_path, tiny_recipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [Row(OURS, tiny_recipe("toy"))]
    readme = tmp_path / "README.md"
    readme.write_text("<!-- table1:start -->\n<!-- table1:end -->\n", encoding="utf-8")
    options = Options(seeds=1, jobs=1, out=tmp_path / "results")
    summary = run(options, rows)

    folder = tmp_path / "results" / "table1"
    assert summary["failures"] == []
    assert {path.name for path in folder.iterdir()} == {
        OURS, "table.md", "table.json", "moons.png", "circles.png", "density.png"
    }  # fmt: skip
    record = json.loads((folder / OURS / "moons-0.json").read_text(encoding="utf-8"))
    assert record["experiment"] == "table1"
    assert record["data"] == {"name": "moons", "labels": 10, "seed": 0}
    assert record["machine"]["threads"] == 1
    assert set(record["metrics"]) == {"error", "nll", "ece"}
    assert {"seconds", "cpu_seconds", "parameters", "objectives", "seed"} <= set(record)
    assert json.loads((folder / "table.json").read_text(encoding="utf-8"))["rows"] == summary["rows"]
    assert summary["readme_updated"]
    assert readme_is_current(readme, folder, rows)

    monkeypatch.setattr(table1_module, "run_tasks", lambda function, tasks, *_: iter(map(pytest.fail, tasks)))
    assert run(options, rows)["rows"] == summary["rows"]


def test_only_fits_without_a_record_of_this_recipe_are_run(tmp_path, tiny_recipe):
    rows = [Row("toy", tiny_recipe("toy"))]
    options = Options(seeds=2, out=tmp_path, data=["moons"])
    fit_all(plan(options, rows))
    assert all(task.is_done() for task in plan(options, rows))

    (tmp_path / "table1" / "toy" / "moons-1.json").unlink()
    (tmp_path / "table1" / "toy" / "moons-0.safetensors").unlink()
    assert not any(task.is_done() for task in plan(options, rows))

    fit_all(plan(options, rows))
    tiny_recipe("toy", steps=3)
    assert not any(task.is_done() for task in plan(options, rows))
    assert summarize(tmp_path / "table1", rows)["rows"] == []  # numbers of an older recipe are not shown


def test_a_new_description_does_not_make_records_stale():
    recipe = load_recipe("toy")
    record = {"recipe": {**recipe.model_dump(mode="json"), "description": "other words"}}
    assert record_is_of(record, recipe)
    assert not record_is_of({"recipe": {"name": "broken"}}, recipe)
    longer = Recipe.model_validate({**recipe.model_dump(), "training": {"steps": 1}})
    assert not record_is_of(record, longer)


@pytest.mark.parametrize("choice", [{"recipes": ["nonsense"]}, {"data": ["digits"]}])
def test_an_unknown_row_or_data_set_is_refused(tmp_path, tiny_recipe, choice):
    with pytest.raises(UserError, match="known are"):
        plan(Options(out=tmp_path, **choice), [Row("toy", tiny_recipe("toy"))])


def test_rows_and_data_can_be_chosen(tmp_path, tiny_recipe):
    rows = [Row(name, tiny_recipe(name)) for name in ("glow-glow", "glow-gmm", "toy")]
    tasks = plan(Options(seeds=2, out=tmp_path, recipes=["toy", "glow-glow"], data=["circles"]), rows)
    assert [(task.row, task.data, task.seed) for task in tasks] == [
        ("glow-glow", "circles", 0), ("toy", "circles", 0), ("glow-glow", "circles", 1), ("toy", "circles", 1)
    ]  # fmt: skip


def test_the_table_shows_what_the_records_say(tmp_path, tiny_recipe):
    rows = [Row("glow-gmm", tiny_recipe("glow-gmm"))]
    for seed, error in enumerate([1.0, 2.0, 3.0]):
        record = {
            "recipe": load_recipe(rows[0].recipe).model_dump(mode="json"),
            "data": {"name": "moons", "labels": 10, "seed": seed},
            "metrics": {"error": error, "nll": 1.1, "ece": 0.0},
            "seconds": 9.0,
            "cpu_seconds": 8.0,
            "parameters": 1234,
        }
        path = tmp_path / "glow-gmm" / f"moons-{seed}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record), encoding="utf-8")
    page = full_table(summarize(tmp_path, rows))
    assert "| Glow | GMM | 1,234 | 2.00 ± 1.00 | 1.2 ± 1.2 | 1.10 ± 0.00 | 1.15 ± 0.01 | – | 14.2 ± 9.0 |" in page
    assert "1 of the 2 cells of the paper that were run are matched" in page
    assert "| 0.06 | – | 1.008 | – | 0.02 | – | 0.808 | – |" in page


def test_a_run_into_another_folder_leaves_the_readme_alone(tmp_path, tiny_recipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = tmp_path / "README.md"
    readme.write_text("<!-- table1:start -->\nkept\n<!-- table1:end -->\n", encoding="utf-8")
    run(Options(out=tmp_path / "trial", render_only=True), [Row("toy", tiny_recipe("toy"))])
    assert "kept" in readme.read_text(encoding="utf-8")


def test_rendering_without_any_record_makes_an_empty_table(tmp_path, tiny_recipe):
    summary = render(tmp_path / "table1", [Row("toy", tiny_recipe("toy"))])
    assert summary["rows"] == []
    assert "physical limit" in (tmp_path / "table1" / "table.md").read_text(encoding="utf-8")
