from dataclasses import replace

import pytest

from scnf.evaluation.records import read_record, write_record
from scnf.experiments import Options
from scnf.experiments.complex_data import STUDY, rows, run
from scnf.experiments.complex_render import METRICS, TITLES, page, summarize, verdict
from scnf.experiments.summary import spread


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
    assert summary["rows"][0]["cpu_seconds"] == record["cpu_seconds"]
    assert "not recorded yet" in summary["verdicts"][0]
    assert f"| + L_clf | {record['metrics']['error']:.2f} |" in (tmp_path / "complex" / "table.md").read_text("utf-8")


def row(name, *errors, changed=90.0):
    values = {
        "error": errors,
        "label_nats": [0.1],
        "swap_changed": [changed],
        "bits_per_dim": [3.0],
        "label_gap": [1.0],
    }
    return {
        "name": name,
        "splits": len(errors),
        "clf_weight": 0.0,
        "consistency_weights": [],
        "parameters": 1234,
        "steps": 300.0,
        "cpu_seconds": 101.4,
        **{metric: spread(of_row) for metric, of_row in values.items()},
    }


@pytest.mark.parametrize(
    ("changed", "words"),
    [(49.9, "**By likelihood alone {} ignores the label here**"), (50.0, "**By likelihood alone {} does not ignore")],
)
@pytest.mark.parametrize(("name", "title"), [("plain", "the flow"), ("gmm", "one Gaussian per class")])
def test_the_verdict_tells_whether_the_label_is_ignored(name, title, changed, words):
    line = verdict({"rows": [row(name, 30.0, changed=changed)]})
    assert line.startswith(words.format(title))
    assert "0.10 of at most 2.30 nats. The error is 30.0 %. Splits: 1;" in line


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        # Of one split three points may be chance.
        ([30.0], [26.9], "L_clf lowers it (26.9 %)"),
        ([30.0], [27.0], "L_clf makes no clear difference (27.0 %)"),
        ([30.0], [33.0], "L_clf makes no clear difference (33.0 %)"),
        ([30.0], [33.1], "L_clf raises it (33.1 %)"),
        ([29.0, 31.0], [27.5], "L_clf makes no clear difference (27.5 %)"),
        ([30.0], [27.4, 27.6], "L_clf makes no clear difference (27.5 %)"),
        # Of more it is the larger standard deviation: 1 and 0 points, and 0 and 5.
        ([29.0, 30.0, 31.0], [28.9, 28.9, 28.9], "L_clf lowers it (28.9 %)"),
        ([29.0, 30.0, 31.0], [29.1, 29.1, 29.1], "L_clf makes no clear difference (29.1 %)"),
        ([29.0, 30.0, 31.0], [31.1, 31.1, 31.1], "L_clf raises it (31.1 %)"),
        ([30.0, 30.0, 30.0], [21.0, 26.0, 31.0], "L_clf makes no clear difference (26.0 %)"),
    ],
)
@pytest.mark.parametrize(("alone", "cured"), [("plain", "clf"), ("gmm", "gmm-clf")])
def test_a_cure_is_told_where_splits_let_it_be(alone, cured, before, after, words):
    assert words in verdict({"rows": [row(alone, *before), row(cured, *after)]})


@pytest.mark.parametrize(
    ("counts", "words"), [((1, 1), "Splits: 1;"), ((3, 3), "Splits: 3;"), ((3, 1), "Splits: 1 to 3;")]
)
def test_the_verdict_tells_the_splits(counts, words):
    rows = [row(name, *([30.0] * count)) for name, count in zip(("plain", "clf"), counts, strict=True)]
    assert words in verdict({"rows": rows})


def test_every_row_is_in_the_verdict():
    errors = {name: 20.0 + i for i, name in enumerate(TITLES)}
    line = verdict({"rows": [row(name, error) for name, error in errors.items()]})
    assert all(f"{error:.1f} %" in line for error in errors.values())
    assert "not recorded yet" in verdict({"rows": [row("clf", 20.0), row("gmm-clf", 20.0)]})


def test_weights_and_cpu_seconds_are_shown(tmp_path):
    recipes = STUDY.known_recipes(2.0)
    for name, recipe in recipes.items():
        record = {
            "recipe": recipe.model_dump(mode="json"),
            "data": {},
            "metrics": dict.fromkeys(METRICS, 1.0),
            "steps": [300],
            "minutes": 2.0,
            "cpu_seconds": 101.4,
            "parameters": 1234,
        }
        write_record(tmp_path / name / "fashion-mnist-0.json", record)
    lines = page(summarize(tmp_path, recipes)).splitlines()
    weights = {line.split(" | ")[0].removeprefix("| "): line.split(" | ", 7)[-1] for line in lines}
    assert weights["model"] == "weight of L_clf | of consistency | parameters | steps | CPU seconds |"
    assert [weights[title] for title in TITLES.values()] == [
        f"{weight} | 1,234 | 300 | 101 |"
        for weight in ("– | –", "100 | –", "– | 8", "– | –", "– | 2000 → 500", "– | –", "100 | –")
    ]
