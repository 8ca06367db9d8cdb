import json
from dataclasses import replace
from typing import Any

import pytest

import scnf
from scnf.experiments import Options
from scnf.experiments.mnist import STUDY, run
from scnf.experiments.mnist_render import AIMS, aims_words, render, verdict
from scnf.experiments.running import run_fit
from scnf.experiments.study import Row, plan

FIGURES = {f"{data}-{figure}.png" for data in STUDY.data for figure in ("curves", "likelihood-samples")}


@pytest.fixture
def study(tiny_image_recipe: str):
    return replace(STUDY, rows=(Row("likelihood", tiny_image_recipe), Row("consistency", "no-such-recipe")))


def test_records_curves_and_samples_of_every_data_set(tmp_path, study, small_images):
    options = Options(splits=1, jobs=1, out=tmp_path, minutes=0.02, data_dir=small_images, recipes=["likelihood"])
    summary = run(options, study)
    assert summary["failures"] == []
    assert [(row["data"], row["splits"]) for row in summary["rows"]] == [("mnist", 1), ("fashion-mnist", 1)]
    folder = tmp_path / "mnist"
    assert {path.name for path in folder.iterdir()} == {"likelihood", "table.md", "table.json", *FIGURES}
    assert {path.name for path in (folder / "likelihood").iterdir()} == {
        f"{data}-0.{ending}" for data in STUDY.data for ending in ("json", "safetensors")
    }
    record = json.loads((folder / "likelihood" / "fashion-mnist-0.json").read_text(encoding="utf-8"))
    assert record["experiment"] == "mnist"
    assert record["data"] == {"name": "fashion-mnist", "labels": 100, "seed": 0}
    assert record["test_curve"][-1]["minutes"] <= 0.02
    assert record["test_curve"][-1]["bits_per_dim"] == pytest.approx(record["metrics"]["bits_per_dim"])
    assert record["loss_curve"]
    page = (folder / "table.md").read_text(encoding="utf-8")
    assert all(f"]({name})" in page for name in FIGURES)
    assert "the paper's SCNF-GLOW* | 1.9 ± 0.3 | 1.145 ± 0.004" in page
    assert scnf.load(folder / "likelihood" / "mnist-0.safetensors").data["name"] == "mnist"

    for path in folder.rglob("*.safetensors"):
        path.unlink()
    again = run(replace(options, render_only=True, minutes=None), study)
    assert again["rows"] == summary["rows"]
    assert again["files"] == summary["files"]  # the pictures of samples stay


def row(data: str, name: str, error: float, bits: float) -> dict[str, Any]:
    mean = {"error": {"mean": error}, "bits_per_dim": {"mean": bits}}
    return {"data": data, "name": name, "recipe": "r", "limit": 20.0, "cpu_seconds": 900.0, **mean}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "is not recorded yet"),
        ([row("fashion-mnist", "likelihood", 1.0, 1.0)], "is not recorded yet"),
        ([row("mnist", "likelihood", 1.904, 1.1454)], "error is reached, its bits/dim are reached"),
        ([row("mnist", "likelihood", 1.91, 1.0)], "error is not reached, its bits/dim are reached"),
        ([row("mnist", "likelihood", 3.0, 2.0), row("mnist", "graph", 1.8, 1.2)], "1.80 % at 1.200 bits/dim"),
        (
            [row("mnist", "marginal", 1.8, 1.2), row("mnist", "graph", 1.4, 1.1)],
            "By the paper's objective **the paper's error is reached, its bits/dim are not reached**, 1.80 % at 1.200 "
            "bits/dim in 15 minutes of one core. With labels spread along a graph **the paper's error is reached",
        ),
        ([row("mnist", "likelihood", 1.0, 1.146)], "error is reached, its bits/dim are not reached"),
        ([row("mnist", "likelihood", 3.0, 2.0)], "3.00 % at 2.000 bits/dim in 15 minutes of one core"),
    ],
)
def test_the_verdict_says_what_is_reached(rows, words):
    assert words in verdict({"rows": rows})


def test_every_aim_is_told():
    rows = [row("mnist", "likelihood", 3.0, 1.1), row("mnist", "consistency", 0.9, 1.4)]
    assert aims_words({"rows": rows}).endswith(
        "reached: `r` on mnist, bits/dim 1.100 (≤ 1.145); `r` on mnist, error, % 0.90 (≤ 1). "
        "And not reached: `r` on mnist, error, % 3.00 (≤ 1.9)."
    )
    assert AIMS.keys() == {(data, row.name) for data in STUDY.data for row in STUDY.rows}


def test_a_model_of_an_older_recipe_is_not_drawn(tmp_path, study, small_images):
    options = Options(splits=1, out=tmp_path, minutes=0.005, data_dir=small_images, data=["mnist"])
    task = plan(replace(study, rows=study.rows[:1]), options)[0]
    run_fit(task, lambda share: None)
    changed = replace(study, rows=(replace(study.rows[0], changes={"training.clip": 3.0}),))
    assert render(tmp_path / "mnist", changed.known_recipes(0.005))["rows"] == []
    assert not list((tmp_path / "mnist").glob("*.png"))


def test_data_sets_may_have_times_of_their_own(tmp_path, study, small_images):
    study = replace(study, rows=study.rows[:1])
    options = Options(splits=2, out=tmp_path, minutes=0.005, data_dir=small_images)
    for task in plan(study, options):
        run_fit(task, lambda share: None)
    first_of_mnist = plan(study, replace(options, minutes=0.01, data=["mnist"]))[0]
    run_fit(first_of_mnist, lambda share: None)
    # The longer time is wanted of the other split on MNIST, too, and shown alone; Fashion-MNIST keeps its own.
    tasks = plan(study, replace(options, minutes=None))
    assert [(task.data, task.seed, task.minutes, task.is_done()) for task in tasks] == [
        ("mnist", 0, 0.01, True), ("fashion-mnist", 0, 0.005, True),
        ("mnist", 1, 0.01, False), ("fashion-mnist", 1, 0.005, True),
    ]  # fmt: skip
    rows = render(tmp_path / "mnist", study.known_recipes(0.01))["rows"]
    assert [(row["data"], row["limit"], row["splits"]) for row in rows] == [
        ("mnist", 0.01, 1), ("fashion-mnist", 0.005, 2),
    ]  # fmt: skip
    # A record of another recipe does not hide them, whatever time it had.
    path = first_of_mnist.record_path
    other = json.loads(path.read_text(encoding="utf-8"))
    other["recipe"]["training"] |= {"clip": 3.0, "max_minutes": 9.0}
    path.with_stem("mnist-7").write_text(json.dumps(other), encoding="utf-8")
    assert run(replace(options, minutes=None, render_only=True), study)["rows"] == rows
