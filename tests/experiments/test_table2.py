import json
from dataclasses import replace

import pytest

from scnf.errors import UserError
from scnf.experiments import Options
from scnf.experiments import running as running_module
from scnf.experiments.study import Row
from scnf.experiments.table2 import STUDY, rows, run
from scnf.experiments.table2_render import PAPER, full_table, matched_cells, render, summarize, verdict

MINUTES = 0.01


def test_rows_are_the_papers_and_differ_from_the_recipe_in_little():
    recipes = STUDY.known_recipes(5.0)
    assert list(recipes) == list(PAPER)
    assert {recipe.model.f for recipe in recipes.values()} == {recipes["glow-sgd"].model.f}
    for name, recipe in recipes.items():
        assert (recipe.model.h.kind == "gaussian") == name.startswith("gmm")
        assert (recipe.training.objective == "em") == ("em" in name.split("-"))
        assert recipe.training.clf_weight == float(name.endswith("clf"))
        assert recipe.training.max_minutes == 5.0
        assert recipe.name == f"table2-{name}"


def test_all_rows_are_trained_in_the_same_time_and_not_again(tmp_path, tiny_image_recipe, small_images, monkeypatch):
    study = replace(STUDY, rows=rows(tiny_image_recipe))
    options = Options(splits=1, jobs=1, out=tmp_path, minutes=MINUTES, data_dir=small_images)
    summary = run(options, study)
    assert summary["failures"] == []
    assert [row["name"] for row in summary["rows"]] == list(PAPER)
    assert summary["minutes"] == MINUTES
    folder = tmp_path / "table2"
    assert {path.name for path in folder.iterdir()} == {*PAPER, "table.md", "table.json"}
    record = json.loads((folder / "gmm-em-clf" / "mnist-0.json").read_text(encoding="utf-8"))
    assert record["data"] == {"name": "mnist", "labels": 100, "seed": 0}
    assert record["recipe"]["training"]["max_minutes"] == MINUTES
    assert set(record["metrics"]) == {"error", "nll", "ece", "bits_per_dim"}
    assert {"seed", "commit", "machine", "minutes", "steps"} <= set(record)
    assert [path.name for path in (folder / "gmm-em-clf").iterdir()] == ["mnist-0.json"]

    monkeypatch.setattr(running_module, "run_tasks", lambda function, tasks, *_: iter(map(pytest.fail, tasks)))
    for again in (options, replace(options, minutes=None), replace(options, minutes=None, render_only=True)):
        assert run(again, study)["rows"] == summary["rows"]
    with pytest.raises(UserError, match="holds no record of a present recipe"):
        run(replace(options, minutes=9.0, render_only=True), study)


def test_the_table_shows_what_the_records_say(tmp_path, tiny_image_recipe):
    recipes = replace(STUDY, rows=rows(tiny_image_recipe)).known_recipes(30.0)
    for split, error in enumerate([1.0, 2.0, 3.0]):
        record = {
            "recipe": recipes["glow-em"].model_dump(mode="json"),
            "data": {"name": "mnist"},
            "metrics": {"error": error, "nll": 800.0, "ece": 0.01, "bits_per_dim": 1.1},
            "steps": [1000],
            "minutes": 30.5,
            "cpu_seconds": 1000.0 * (split + 1),
            "parameters": 1234,
        }
        path = tmp_path / "glow-em" / f"mnist-{split}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record), encoding="utf-8")
    summary = summarize(tmp_path, recipes)
    page = full_table(summary)
    ours = (
        "| SCNF-GLOW | EM-SGD | – | 2.00 ± 1.00 | 1.9 ± 0.0 | 1.100 ± 0.000 | 1.146 ± 0.002 | 0.010 ± 0.000 | 1,234 |"
    )
    assert f"{ours} 1,000 | 2,000 | 3 |" in page
    assert "| parameters | steps | CPU seconds | splits |" in page
    assert "| Kingma et al. (2014) | VI | ✓ | – | 3.3 ± 0.1 | – | – |" in page
    assert "Every fit had 30 minutes by the clock" in page
    assert "minutes by the clock" not in full_table({**summary, "minutes": None})
    assert matched_cells(summary) == (1, 2)


def test_without_the_recipe_or_any_record_the_table_has_the_papers_row_alone(tmp_path):
    study = replace(STUDY, rows=(Row("glow-sgd", "no-such-recipe"),))
    summary = render(tmp_path, study.known_recipes(1.0))
    assert summary["rows"] == []
    assert [row[0] for row in summary["table"]["rows"]] == ["Kingma et al. (2014)"]


@pytest.mark.parametrize(
    ("glow", "gmm", "words"),
    [
        ((2.0, 2.0, 2.0), (3.0, 9.0, 9.0), ("claim holds in 2", "far fewer errors with 3 of 3 objectives", "2.00 %")),
        ((4.0, 4.0, 4.0), (9.0, 9.0, 9.0), ("claim holds in part", "far fewer errors with 3 of 3 ", "4.00 % at best")),
        ((3.0, 3.0, 3.0), (4.0, 4.0, 4.0), ("claim holds in part", "makes fewer, not far fewer, errors with 3 of 3 ")),
        ((4.0, 4.0, 4.0), (5.9, 5.9, 5.9), ("does not hold", "makes fewer, not far fewer, errors with 3 of 3 ")),
        ((4.0, 4.0, 4.0), (4.0, 3.9, 1.0), ("does not hold", "makes no fewer errors with 3 of 3 objectives")),
        (
            (4.0, 5.0, 6.0),
            (9.0, 6.0, 5.0),
            (
                "does not hold",
                "makes far fewer errors with 1 of 3, fewer, not far fewer, errors with 1 of 3, no fewer errors with 1",
                "4.00 % at best beside 3.3 %",
            ),
        ),
        ((3.3, 3.3, 3.3), (9.0, 9.0, 9.0), ("claim holds in part",)),  # no fewer than M1 + M2
        ((2.0,), (9.0,), ("claim holds in 2", "far fewer errors with 1 of 1 objectives")),
        ((2.0,), (), ("no record of the same objective yet",)),
    ],
)
def test_the_verdict_asks_for_far_fewer_errors_and_fewer_than_m1_m2(glow, gmm, words):
    ways = ("sgd", "em-clf", "em")
    named = [(f"glow-{way}", error) for way, error in zip(ways, glow, strict=False)]
    named += [(f"gmm-{way}", error) for way, error in zip(ways, gmm, strict=False)]
    line = verdict({"minutes": 2.0, "rows": [{"name": name, "error": {"mean": error}} for name, error in named]})
    assert all(word in line for word in words), line
