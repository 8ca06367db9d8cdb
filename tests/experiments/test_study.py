"""What all studies share: which fits are run, for how long, and that a stopped one goes on."""

import json
from dataclasses import replace

import pytest

from scnf import load_recipe
from scnf.errors import UserError
from scnf.experiments import EXPERIMENTS, Options, load_experiment
from scnf.experiments import running as running_module
from scnf.experiments.running import run_fit, run_study
from scnf.experiments.study import Row, Study, plan, record_is_of
from scnf.experiments.summary import count_matched, metric_spread, records_of, shown
from scnf.recipes import Recipe
from scnf.recipes.load import with_overrides

STUDY = Study("study", (), ("moons", "circles"), labels=10, splits=2)


def study_of(tiny_recipe, *names: str, **changes) -> Study:
    return replace(STUDY, rows=tuple(Row(name, tiny_recipe(name)) for name in names), **changes)


def fit_all(tasks):
    for task in tasks:
        run_fit(task, lambda share: None)


def test_every_registered_experiment_can_be_run():
    for name in EXPERIMENTS:
        assert callable(load_experiment(name).run)


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(UserError, match=r"unknown experiment 'table9'; known are .*table1"):
        load_experiment("table9")


def test_only_fits_without_a_record_of_this_recipe_are_run(tmp_path, tiny_recipe):
    study = study_of(tiny_recipe, "toy", models="first")
    options = Options(out=tmp_path, data=["moons"])
    fit_all(plan(study, options))
    assert all(task.is_done() for task in plan(study, options))
    folder = tmp_path / "study" / "toy"
    assert {path.name for path in folder.iterdir()} == {"moons-0.json", "moons-0.safetensors", "moons-1.json"}

    (folder / "moons-1.json").unlink()
    (folder / "moons-0.safetensors").unlink()
    assert not any(task.is_done() for task in plan(study, options))

    fit_all(plan(study, options))
    tiny_recipe("toy", steps=3)
    assert not any(task.is_done() for task in plan(study, options))
    assert records_of(folder, study.rows[0].load()) == []  # numbers of an older recipe are not shown


@pytest.mark.parametrize(("models", "kept"), [("none", [0, 0]), ("first", [1, 0]), ("all", [1, 1])])
def test_models_are_kept_as_asked(tmp_path, tiny_recipe, models, kept):
    tasks = plan(study_of(tiny_recipe, "toy", models=models, data=("moons",)), Options(out=tmp_path))
    assert [task.model_path is not None for task in tasks] == kept
    assert [task.needs_model for task in tasks] == ([1, 0] if models == "first" else [0, 0])


def test_a_new_description_does_not_make_records_stale():
    recipe = load_recipe("toy")
    record = {"recipe": {**recipe.model_dump(mode="json"), "description": "other words"}}
    assert record_is_of(record, recipe)
    assert not record_is_of({"recipe": {"name": "broken"}}, recipe)
    longer = Recipe.model_validate({**recipe.model_dump(), "training": {"steps": 1}})
    assert not record_is_of(record, longer)


def test_a_new_description_does_not_orphan_a_checkpoint(tmp_path, tiny_recipe):
    task = plan(study_of(tiny_recipe, "toy"), Options(out=tmp_path))[0]
    renamed, longer = (
        with_overrides(task.recipe, changes)
        for changes in ({"name": "other", "description": "other words"}, {"training.steps": 9})
    )
    assert replace(task, recipe=renamed).checkpoint_path == task.checkpoint_path
    assert replace(task, recipe=longer).checkpoint_path != task.checkpoint_path


@pytest.mark.parametrize("choice", [{"recipes": ["nonsense"]}, {"data": ["digits"]}])
def test_an_unknown_row_or_data_set_is_refused(tmp_path, tiny_recipe, choice):
    with pytest.raises(UserError, match="known are"):
        plan(study_of(tiny_recipe, "toy"), Options(out=tmp_path, **choice))


def test_rows_and_data_can_be_chosen(tmp_path, tiny_recipe):
    study = study_of(tiny_recipe, "glow-glow", "glow-gmm", "toy")
    tasks = plan(study, Options(out=tmp_path, recipes=["toy", "glow-glow"], data=["circles"]))
    assert [(task.row, task.data, task.seed) for task in tasks] == [
        ("glow-glow", "circles", 0), ("toy", "circles", 0), ("glow-glow", "circles", 1), ("toy", "circles", 1)
    ]  # fmt: skip
    assert len(plan(study, Options(splits=5, out=tmp_path))) == 5 * 3 * 2


def test_changes_and_minutes_reach_the_recipe(tmp_path, tiny_recipe):
    study = replace(STUDY, rows=(Row("em", tiny_recipe("a"), {"training.objective": "em"}),), minutes=3.0)
    assert study.known_recipes(2.0)["em"].training.max_minutes == 2.0
    assert plan(study, Options(out=tmp_path))[0].recipe.training.max_minutes == 3.0
    task = plan(study, Options(out=tmp_path, minutes=0.5))[0]
    assert (task.recipe.training.max_minutes, task.recipe.training.objective) == (0.5, "em")


def test_minutes_that_were_recorded_are_the_default(tmp_path, tiny_recipe):
    study = study_of(tiny_recipe, "toy", minutes=3.0)
    fit_all(plan(study, Options(splits=1, out=tmp_path, data=["moons"], minutes=0.5)))
    assert study.budget(Options(out=tmp_path)) == 0.5
    assert plan(study, Options(out=tmp_path, data=["moons"]))[0].is_done()
    assert not plan(study, Options(out=tmp_path, data=["moons"], minutes=1.0))[0].is_done()


def test_minutes_for_fits_that_go_by_steps_are_refused(tmp_path, tiny_recipe):
    with pytest.raises(UserError, match="study has no time limit to set"):
        plan(study_of(tiny_recipe, "toy"), Options(out=tmp_path, minutes=1.0))


def test_a_recipe_that_is_not_there_is_refused_for_training_alone(tmp_path):
    study = replace(STUDY, rows=(Row("a", "no-such-recipe"),))
    with pytest.raises(UserError, match="unknown recipe 'no-such-recipe'"):
        plan(study, Options(out=tmp_path))
    assert study.known_recipes() == {}


def test_a_stopped_fit_goes_on_from_its_checkpoint(tmp_path, tiny_recipe):
    study = replace(STUDY, rows=(Row("toy", tiny_recipe("toy", steps=6)),), models="first")
    stopped, whole = (plan(study, Options(out=tmp_path / name))[0] for name in ("stopped", "whole"))

    def stop(share: float) -> None:
        if share >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_fit(stopped, stop)
    assert stopped.checkpoint_path.is_file()
    assert not stopped.is_done()
    other = stopped.record_path.with_suffix(".0123456789ab.checkpoint")
    other.write_text("of an older recipe")
    stopped.record_path.with_suffix(".safetensors.7.partial").write_text("of a killed process")

    shares = []
    run_fit(stopped, shares.append)
    run_fit(whole, lambda share: None)
    assert shares == pytest.approx([4 / 6, 5 / 6, 1])
    metrics = [json.loads(task.record_path.read_text())["metrics"] for task in (stopped, whole)]
    assert metrics[0] == metrics[1]
    assert not [*tmp_path.rglob("*.checkpoint*"), *tmp_path.rglob("*.partial")]


def test_bad_data_are_refused_before_the_first_fit(tmp_path, tiny_recipe, monkeypatch):
    monkeypatch.setattr(running_module, "run_tasks", lambda function, tasks, *_: iter(map(pytest.fail, tasks)))
    study = study_of(tiny_recipe, "toy", data=("mnist",))
    with pytest.raises(UserError, match="nowhere"):
        run_study(study, Options(out=tmp_path, data_dir=tmp_path / "nowhere"), lambda *_: {})


def test_numbers_of_records_together():
    records = [{"metrics": {"error": error}} for error in (1.0, 2.0, 3.0)]
    assert metric_spread(records, "error") == {"mean": 2.0, "std": 1.0, "values": [1.0, 2.0, 3.0]}
    assert metric_spread([], "error") == {"mean": None, "std": None, "values": []}
    assert count_matched([(1.0049, 1.0), (1.006, 1.0), (0.5, 1.0)]) == (2, 3)
    assert shown(["a"], [["**b** `c`"]]) == {"columns": ["a"], "rows": [["b c"]]}


def test_a_damaged_record_is_named(tmp_path, tiny_recipe):
    study = study_of(tiny_recipe, "toy")
    folder = tmp_path / "study" / "toy"
    folder.mkdir(parents=True)
    (folder / "moons-0.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"moons-0\.json is damaged"):
        plan(study, Options(out=tmp_path, data=["moons"]))[0].is_done()
    with pytest.raises(UserError, match=r"moons-0\.json is damaged"):
        records_of(folder, load_recipe(tiny_recipe("toy")))
