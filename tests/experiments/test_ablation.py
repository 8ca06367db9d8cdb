from dataclasses import replace

import pytest

from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.ablation import STUDY, WITHOUT, rows, run
from scnf.experiments.ablation_render import TITLES, verdict
from scnf.recipes import load_recipe


def test_every_row_lacks_something_of_the_recipe():
    recipes = STUDY.known_recipes(5.0)
    assert list(recipes) == [name for rows in WITHOUT.values() for name in rows] == list(TITLES)
    for whole_name, names in WITHOUT.items():
        whole = load_recipe(whole_name, {"training.max_minutes": 5.0}).essence()
        same = [name for name in names if recipes[name].essence() == whole]
        assert same == [whole_name]


def test_a_row_is_recorded_and_shown(tmp_path, tiny_image_recipe, small_images, in_process):
    study = replace(STUDY, rows=rows("mnist-joint", tiny_image_recipe)[:1])
    summary = run(Options(splits=1, out=tmp_path, minutes=0.004, data_dir=small_images), study)
    assert summary["failures"] == []
    record = read_record(tmp_path / "ablation" / "mnist-joint" / "mnist-0.json")
    page = (tmp_path / "ablation" / "table.md").read_text("utf-8")
    assert f"| `mnist-joint` as it is | {record['metrics']['error']:.2f} |" in page
    assert "| minutes | splits |" in page
    assert "| 0.004 | 1 |" in page
    assert "| parameters | steps | CPU seconds |" in page
    assert f"| {sum(record['steps']):,} | {record['cpu_seconds']:,.0f} |" in page
    assert "No recipe is recorded both" in summary["verdicts"][0]


def row(name, error, bits, splits=3, limit=2.0):
    return {"name": name, "limit": limit, "splits": splits, "error": {"mean": error}, "bits_per_dim": {"mean": bits}}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [row("mnist-joint", 4.0, 1.2), row("no-graph", 20.0, 1.21), row("adam", 5.0, 1.4)],
            "**error** changes most with “no graph: equation 1 from the first step on”, up from 4.00 to 20.00; "
            "**bits/dim** changes most with “Adam for all, no Muon”, up from 1.200 to 1.400.",
        ),
        # The largest change, not the largest value.
        (
            [row("mnist-joint", 10.0, 1.2), row("no-graph", 4.0, 1.21), row("adam", 11.0, 0.9)],
            "**error** changes most with “no graph: equation 1 from the first step on”, down from 10.00 to 4.00; "
            "**bits/dim** changes most with “Adam for all, no Muon”, down from 1.200 to 0.900.",
        ),
        ([row("mnist-joint", 4.0, 1.2)], "without an ingredient yet."),
        ([row("adam", 4.0, 1.2)], "without an ingredient yet."),
        # Rows of another time are not compared.
        ([row("mnist-joint", 4.0, 1.2), row("adam", 5.0, 1.4, limit=8.0)], "without an ingredient yet."),
        # A recipe is compared with itself alone.
        (
            [row("mnist-joint", 4.0, 1.2), row("mnist-consistency", 2.0, 1.4), row("consistency-no-graph", 5.0, 1.3)],
            "`mnist-consistency`: **error** changes most with “no graph: the posterior alone teaches”, up from 2.00 to "
            "5.00; **bits/dim** changes most with “no graph: the posterior alone teaches”, down from 1.400 to 1.300.",
        ),
    ],
)
def test_the_verdict_names_what_matters_most(rows, words):
    assert verdict({"rows": rows}).endswith(words)


def test_each_recipe_has_a_verdict():
    without = ("together", "adam", "graph-narrow", "consistency-light")
    names = (*WITHOUT, *without)
    told = verdict({"rows": [row(name, 4.0, 1.2) for name in names]})
    assert [told.count(f"`{recipe}`: **error**") for recipe in WITHOUT] == [1, 1, 1, 1]


@pytest.mark.parametrize(("splits", "told"), [((3, 3), False), ((3, 1), True), ((1, 3), True), ((1, 1), True)])
def test_the_verdict_warns_of_one_split(splits, told):
    rows = [row(name, 4.0 + i, 1.2, n) for i, (name, n) in enumerate(zip(("mnist-joint", "adam"), splits, strict=True))]
    assert ("one split alone" in verdict({"rows": rows})) == told
