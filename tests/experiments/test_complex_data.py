from dataclasses import replace

import pytest

from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.complex_data import STUDY, rows, run
from scnf.experiments.complex_render import METRICS, TITLES, verdict


def test_rows_differ_in_what_may_cure():
    recipes = STUDY.known_recipes(5.0)
    assert list(recipes) == list(TITLES)
    assert [name for name, recipe in recipes.items() if recipe.training.clf_weight] == ["clf", "gmm-clf"]
    assert [name for name, recipe in recipes.items() if recipe.training.consistency] == [
        "consistency",
        "graph-consistency",
    ]
    assert [name for name, recipe in recipes.items() if recipe.training.guess] == ["graph", "graph-consistency"]
    assert [name for name, recipe in recipes.items() if recipe.model.h.kind == "gaussian"] == ["gmm", "gmm-clf"]
    assert len({recipe.model.f for recipe in recipes.values()}) == 1


def test_the_use_of_the_label_is_recorded_and_shown(tmp_path, tiny_image_recipe, small_images, in_process):
    study = replace(STUDY, rows=rows(tiny_image_recipe, tiny_image_recipe)[1:2])
    summary = run(Options(splits=1, out=tmp_path, minutes=0.004, data_dir=small_images), study)
    assert summary["failures"] == []
    record = read_record(tmp_path / "complex" / "clf" / "fashion-mnist-0.json")
    assert set(METRICS) <= set(record["metrics"])
    assert "not recorded yet" in summary["verdicts"][0]
    assert f"| + L_clf | {record['metrics']['error']:.2f} |" in (tmp_path / "complex" / "table.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("changed", "after", "words"),
    [(10.0, 12.0, ("flow ignores", "L_clf lowers it (12.0 %)")), (90.0, 40.0, ("does not ignore", "does not lower"))],
)
def test_the_verdict_tells_what_cures(changed, after, words):
    def row(name, error):
        means = {"error": error, "label_nats": 0.1, "swap_changed": changed}
        return {"name": name, **{key: {"mean": value} for key, value in means.items()}}

    line = verdict({"rows": [row("plain", 30.0), row("clf", after)]})
    assert all(word in line for word in words)
    assert "0.10 of at most 2.30 nats" in line
