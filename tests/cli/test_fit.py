import json
import math
from pathlib import Path

import pytest

from scnf import load_recipe
from scnf.runs import RECIPE_FILE
from tests.cli.conftest import fit_options, invoke, invoke_json, refusal


def test_a_run_folder_holds_all_of_the_run(moons_run: Path):
    assert {path.name for path in moons_run.iterdir()} == {
        "recipe.toml",
        "split.json",
        "model.safetensors",
        "history.json",
        "metrics.json",
    }
    assert load_recipe(moons_run / RECIPE_FILE) == load_recipe("toy", {"training.steps": 3})
    split = json.loads((moons_run / "split.json").read_text())
    assert (split["data"], split["labels"], split["seed"], len(split["labelled_rows"])) == ("moons", 10, 7, 10)
    assert [record["step"] for record in json.loads((moons_run / "history.json").read_text())["history"]] == [1, 2, 3]


def test_json_is_one_object_with_the_metrics(folder: Path):
    metrics = invoke_json(*fit_options("--out", "runs/m7", "--labels", 20))
    expected = {"error", "nll", "ece", "seconds", "cpu_seconds", "parameters", "objective"}
    assert all(isinstance(metrics[key], int | float) for key in expected)
    assert metrics["steps"] == [3]
    told = {key: metrics[key] for key in ("data", "labels", "seed", "recipe", "out")}
    assert told == {"data": "moons", "labels": 20, "seed": 7, "recipe": "toy", "out": "runs/m7"}


def test_a_limited_run_ends_in_time_and_tells_what_it_took(folder: Path):
    small = ["--set", "model.f.hidden=8", "--set", "model.h.hidden=8", "--set", "training.steps=1000000"]
    metrics = invoke_json(*fit_options("--out", "run", *small, "--max-minutes", 0.01))
    assert 0.01 <= metrics["minutes"] == metrics["seconds"] / 60 < 0.5
    assert 0 < metrics["steps"][0] < 1_000_000
    assert load_recipe(folder / "run" / RECIPE_FILE).training.max_minutes == 0.01
    last = json.loads((folder / "run" / "history.json").read_text())["history"][-1]
    assert last["step"] == metrics["steps"][0]


def test_integers_have_bits_per_dim(digits_run: Path):
    metrics = json.loads((digits_run / "metrics.json").read_text())
    assert metrics["bits_per_dim"] > 0
    assert metrics["recipe"] == "tiny-digits"


def test_people_are_told_what_was_understood_and_what_came_out(folder: Path):
    options = [option for option in fit_options("--out", "run") if option != "--quiet"]
    result = invoke(*options)
    assert result.exit_code == 0
    for text in ("10 known, 990 hidden", "toy: ffjord f", "test error", "test NLL"):
        assert text in result.stdout
    assert "step 3/3" in result.stderr


def test_quiet_is_quiet(folder: Path):
    assert invoke(*fit_options("--out", "run")).output == ""


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--data", "nothing"], "unknown data set 'nothing'; known are moons, circles, digits"),
        (["--recipe", "nothing"], "unknown recipe 'nothing'"),
        (["--recipe", "nothing.toml"], "nothing.toml does not exist"),
        (["--recipe", "broken.toml"], "broken.toml is not valid TOML"),
        (["--set", "training.stepz=3"], "unknown key 'training.stepz'; did you mean 'training.steps'?"),
        (["--set", "batch_size=3"], "did you mean 'training.batch_size'?"),
        (["--set", "training.steps=many"], "bad value 'many' for key 'training.steps'"),
        (["--set", "model.f.kind=magic"], "bad value 'magic' for key 'model.f.kind'"),
        (["--set", "training.steps"], "key=value, got 'training.steps'"),
        (["--max-minutes", "0"], "key 'training.max_minutes'"),
        (["--set", "model.z_f=9"], "recipe 'toy' does not suit data set 'moons'"),
        (["--set", "training.consistency={weight=1.0}"], "training.consistency alters images of whole numbers"),
        (["--set", "training.batch_size=2", "--devices", "3"], "3 devices cannot share a batch of 2 rows"),
        (["--labels", "1"], "between 2 (one per class) and 1000 (all rows), got 1"),
        (["--seed", "-1"], "seed must lie between 0 and 4294967295, got -1"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(folder: Path, options: list[str], named: str):
    (folder / "broken.toml").write_text("name = ")
    assert named in refusal(*fit_options("--out", "run"), *options)
    assert [path.name for path in folder.iterdir()] == ["broken.toml"]


def test_a_folder_that_exists_is_refused_and_left_alone(folder: Path):
    (folder / "run").mkdir()
    assert "run exists already" in refusal(*fit_options("--out", "run"))
    assert list((folder / "run").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(folder: Path):
    (folder / "file").touch()
    assert "file" in refusal(*fit_options("--out", "file/run"))


def test_divergence_is_one_sentence_and_keeps_the_checkpoint(folder: Path):
    result = invoke(*fit_options("--out", "run", "--set", "training.learning_rate=1e30", "--set", "training.steps=40"))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: training diverged")
    assert result.stderr.rstrip().endswith("the weights before them are kept in run/last-good.safetensors")
    assert math.isfinite(invoke_json("evaluate", "run/last-good.safetensors", "--data", "moons")["nll"])
    assert invoke_json("info", "run")["diverged"]
    assert "run diverged: fit anew" in invoke("info", "run").stdout
    assert (folder / "run" / "checkpoint.safetensors").is_file()
    again = invoke("fit", "--out", "run", "--resume", "--quiet")
    assert again.exit_code == 1
    assert "training diverged" in again.stderr
