"""``scnf fit`` on people's own files."""

import json
import math
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import scnf
from scnf.files.split import choose_test_rows
from scnf.runs import CHECKPOINT_FILE, METRICS_FILE
from tests.cli.conftest import fit_file_options, invoke, invoke_json, refusal
from tests.cli.own_files import fruit_rows, write_csv, write_images
from tests.helpers import same_weights

PROGRAM = [sys.executable, "-c", "from scnf.cli.main import main; main()"]
FRUIT = ("fruit.csv", "--target", "label", "--ignore", "id", "--no-calibrate", "--out", "run")


def numbers_of(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return two columns without gaps as an array, and labels as 0, 1 and -1."""
    x = np.array([[float(row["size"]), float(row["count"])] for row in rows])
    return x, np.array([{"apple": 0, "melon": 1, "": -1}[row["label"]] for row in rows])


def test_people_are_told_what_was_understood(folder: Path):
    write_csv(folder / "fruit.csv", fruit_rows())
    options = fit_file_options(*FRUIT)
    options.remove("--quiet")
    result = invoke(*options)
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    assert "fruit.csv, seed 0" in shown
    assert "4: size (number), weight (number, gaps), count (whole number), color (2 categories, gaps)" in shown
    assert "30 of 120 rows (25 %)" in shown
    assert "chosen: coupling f, gaussian h, up to 3 steps" in shown
    assert "no test metrics will be told" in shown
    assert "test error" not in shown
    assert "held-out" in result.stderr
    assert "train labels" in result.stderr


@pytest.mark.parametrize(("marker", "noted"), [((), True), (("--unlabeled", -1), False)])
def test_minus_one_as_a_class_is_noted(folder: Path, marker: tuple, noted: bool):
    write_csv(folder / "fruit.csv", [{**row, "label": row["label"] or "-1"} for row in fruit_rows()])
    options = fit_file_options(*FRUIT, *marker)
    options.remove("--quiet")
    shown = " ".join(invoke(*options).stdout.split())
    assert ("-1 is taken for a class; if it marks rows without a label, say so: --unlabeled -1" in shown) == noted


def test_held_out_rows_are_told_in_the_units_of_the_table(folder: Path):
    """A column in another unit moves −log p(x) by the log of that unit."""
    told = []
    for unit in (1.0, 1e6):
        rows = [{**row, "size": str(unit * float(row["size"]))} for row in fruit_rows()]
        write_csv(folder / "fruit.csv", rows)
        options = fit_file_options(*FRUIT[:-1], f"run{unit:g}")
        options.remove("--quiet")
        told.append(float(re.findall(r"held-out (\S+) nats", invoke(*options).stderr)[-1]))
    assert told[1] - told[0] == pytest.approx(math.log(1e6), abs=0.01)


def test_what_makes_learning_hard_is_noted(folder: Path):
    rows = [{**row, "id": str(i), "one": "1"} for i, row in enumerate(fruit_rows())]
    rows[5]["label"] = "pear"
    write_csv(folder / "fruit.csv", rows)
    options = fit_file_options("fruit.csv", "--target", "label", "--no-calibrate", "--out", "run")
    options.remove("--quiet")
    shown = " ".join(invoke(*options).stdout.split())
    assert "classes with hardly a label, which are told on weak grounds: pear (1)" in shown
    assert "columns that only count the rows should be left out (--ignore): id" in shown
    assert "columns with one value alone tell nothing: one" in shown


def test_metrics_tell_the_test_rows_they_come_from(fruit_run: Path):
    metrics = json.loads((fruit_run / METRICS_FILE).read_text())
    rows = fruit_rows()
    labels = [sum(row["label"] == name for row in rows) for name in ("apple", "melon", "")]
    assert metrics["test_rows"] == sum(round(0.25 * count) for count in labels)
    assert metrics["test_labels"] == sum(round(0.25 * count) for count in labels[:2])
    assert metrics["hidden_labels"] == metrics["labels"] == 30 - metrics["test_labels"]
    assert {"error", "nll", "ece", "ece_uncalibrated", "hidden_label_error"} <= metrics.keys()


def test_no_test_rows_no_claims(image_run: Path):
    assert not {"error", "nll", "ece", "hidden_label_error"} & json.loads((image_run / METRICS_FILE).read_text()).keys()


def test_a_test_file_is_measured_on(folder: Path):
    write_csv(folder / "fruit.csv", fruit_rows())
    more = [*fruit_rows(40, every=2, seed=1), {**fruit_rows(1)[0], "label": "pear"}]
    write_csv(folder / "test.csv", more, ("label", "color", "count", "weight", "size"))
    metrics = invoke_json(*fit_file_options(*FRUIT, "--test", "test.csv"))
    assert (metrics["test_rows"], metrics["test_labels"], metrics["unknown_labels"]) == (41, 21, 1)
    assert metrics["error"] >= 100 / 21


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.parquet", "x.feather", "x.npz", "x.npy"])
def test_the_same_rows_give_the_same_model_whatever_the_file_and_as_the_estimator(folder: Path, name: str):
    x, y = numbers_of(fruit_rows())
    frame = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1].astype(int), "y": y})
    writers: dict[str, Callable[[], object]] = {
        "x.csv": lambda: frame.to_csv(name, index=False),
        "x.tsv": lambda: frame.to_csv(name, index=False, sep="\t"),
        "x.parquet": lambda: frame.to_parquet(name),
        "x.feather": lambda: frame.to_feather(name),
        "x.npz": lambda: np.savez(name, x=x, y=y),
        "x.npy": lambda: np.save(name, np.column_stack([x, y])),
    }
    writers[name]()
    target = "x2" if name == "x.npy" else "y"  # one array has no names: its columns are counted
    options = [name, "--target", target, "--unlabeled", -1, "--seed", 5, "--no-calibrate", "--out", "run"]
    assert invoke(*fit_file_options(*options)).exit_code == 0
    here = scnf.load(folder / "run")
    settings = {"training.steps": 3}
    there = scnf.SCNFClassifier(settings=settings, calibrate=False, random_state=5).fit(frame[["x0", "x1"]], y).model_
    assert same_weights(here.model, there.model)
    assert here.classes == there.classes == ("0", "1")
    assert here.densities == there.densities


def test_an_estimator_can_be_loaded_from_a_run(fruit_run: Path):
    estimator = scnf.SCNFClassifier.load(fruit_run)
    frame = pd.DataFrame({"size": [5.0], "weight": [4.0], "count": [2], "color": ["red"]})
    assert estimator.predict(frame).tolist()[0] in ("apple", "melon")
    assert estimator.feature_names_in_.tolist() == ["size", "weight", "count", "color"]


def test_images_in_folders(folder: Path, image_run: Path):
    trained = scnf.load(image_run)
    assert trained.classes == ("dark", "light")
    assert (trained.model.shape, trained.levels) == ((1, 6, 6), 256)
    assert (trained.data["rows"], trained.data["labels"]) == (36, 24)


def test_images_in_arrays(folder: Path):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    images = rng.integers(0, 9, (30, 5, 5)) + 8 * y[:, None, None]
    np.savez("images.npz", x=images, y=np.where(np.arange(30) < 20, y, -1))
    invoke_json(*fit_file_options("images.npz", "--unlabeled", -1, "--no-calibrate", "--out", "run"))
    trained = scnf.load("run")
    assert (trained.model.shape, trained.levels, trained.data["labels"]) == ((1, 5, 5), int(images.max()) + 1, 20)


def test_images_of_several_sizes_are_stretched_if_asked(folder: Path):
    write_images(folder / "photos")
    write_images(folder / "more", count=1, size=9)
    (folder / "more/dark/000.png").rename(folder / "photos/dark/other.png")
    options = fit_file_options("--image-folder", "photos", "--no-calibrate", "--out", "run")
    assert "other.png has 9×9 pixels" in refusal(*options)
    assert invoke(*options, "--image-size", "4x5", "--image-color").exit_code == 0
    assert scnf.load("run").model.shape == (3, 4, 5)


@pytest.mark.parametrize("size", [[], ["--image-size", "6x6"]])
def test_a_model_of_images_made_grey_makes_later_ones_grey(folder: Path, size: list[str]):
    write_images(folder / "photos")
    assert invoke(*fit_file_options("--image-folder", "photos", "--no-calibrate", "--out", "run", *size)).exit_code == 0
    colored = folder / "colored"
    colored.mkdir()
    Image.open("photos/dark/000.png").convert("RGB").save(colored / "a.png")
    assert "but the model takes 1×6×6" in refusal("predict", "run", "colored", "--out", "a.csv")
    options = ["--image-folder", "photos", "--no-calibrate", "--image-grey", "--out", "grey"]
    assert invoke(*fit_file_options(*options, *size)).exit_code == 0
    assert invoke("predict", "grey", "colored", "--out", "b.csv").exit_code == 0


@pytest.mark.parametrize("test", [["--test-share", "0.5"], ["--test", "test.csv"]])
def test_test_rows_that_do_not_fit_are_refused_before_training(folder: Path, test: list[str]):
    rows = fruit_rows()
    codes = np.array([{"": -1, "apple": 0, "melon": 1}[row["label"]] for row in rows])
    row = int(choose_test_rows(codes, 0.5, seed=0).argmax())
    with_gap = [*rows[:row], {**rows[row], "size": ""}, *rows[row + 1 :]]
    write_csv(folder / "test.csv", with_gap)
    write_csv(folder / "fruit.csv", with_gap if "--test-share" in test else rows)
    sentence = refusal(*fit_file_options(*FRUIT, *test))
    assert f"column 'size', row {row + 1}: the value is missing, but training had no missing value there" in sentence
    assert not (folder / "run").exists()


@pytest.mark.parametrize(("high", "scale"), [(9, 1), (8, 0.1)])
def test_test_images_of_other_values_are_refused_before_training(folder: Path, high: int, scale: float):
    images = np.random.default_rng(0).integers(0, 9, (30, 5, 5))
    y = np.arange(30) % 2
    np.savez("images.npz", x=images, y=y)
    np.savez("test.npz", x=np.where(np.arange(5) == 3, high, images) * scale, y=y)
    options = fit_file_options("images.npz", "--test", "test.npz", "--no-calibrate", "--out", "run")
    assert "test.npz: the model was trained on images of whole numbers from 0 to 8" in refusal(*options)
    assert not (folder / "run").exists()


def test_labels_that_are_names_stay_so_in_later_files(folder: Path):
    rows = [{"x": str(i % 7), "w": str(i * 0.37 % 1), "label": ("02", "03", "1a")[i % 3]} for i in range(60)]
    write_csv(folder / "train.csv", rows)
    write_csv(folder / "test.csv", [row for row in rows if row["label"] != "1a"])
    options = fit_file_options("train.csv", "--target", "label", "--test", "test.csv", "--no-calibrate", "--out", "run")
    assert invoke_json(*options)["test_labels"] == 40
    assert invoke_json("evaluate", "run", "test.csv")["test_labels"] == 40


def test_after_a_kill_the_run_goes_on_to_the_same_result(folder: Path):
    write_csv(folder / "fruit.csv", fruit_rows())
    long = ["--set", "training.steps=150", "--set", "training.n_init=2"]
    assert invoke(*fit_file_options(*FRUIT[:-1], "whole", *long)).exit_code == 0
    program = subprocess.Popen([*PROGRAM, *fit_file_options(*FRUIT, *long, "--checkpoint-every", "0")])
    while not (folder / "run" / CHECKPOINT_FILE).is_file() and program.poll() is None:
        time.sleep(0.01)
    program.send_signal(signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL
    assert invoke("fit", "--out", "run", "--resume", "--quiet", "--threads", 1).exit_code == 0
    assert (folder / "run/model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()


@pytest.fixture
def unfinished(folder: Path) -> Path:
    """A run that was killed, and its file in the current folder."""
    write_csv(folder / "fruit.csv", fruit_rows())
    assert invoke(*fit_file_options(*FRUIT)).exit_code == 0
    (folder / "run" / METRICS_FILE).unlink()
    return folder


def test_a_changed_file_is_refused(unfinished: Path):
    write_csv(unfinished / "fruit.csv", fruit_rows(seed=1))
    assert "fruit.csv was changed since the run was started" in refusal("fit", "--out", "run", "--resume")
    (unfinished / "fruit.csv").unlink()
    assert "is not there any more" in refusal("fit", "--out", "run", "--resume")


def test_a_file_that_was_moved_is_found_where_it_is_named(unfinished: Path):
    (unfinished / "fruit.csv").rename("moved.csv")
    assert invoke("fit", "moved.csv", "--out", "run", "--resume", "--quiet").exit_code == 0
    write_csv(unfinished / "other.csv", fruit_rows(seed=1))
    assert "other.csv is not the same" in refusal("fit", "other.csv", "--out", "run", "--resume")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--target", "color"], "was started with target = label, not color"),
        (["--seed", "8"], "was started with seed = 0, not 8"),
        (["--set", "training.steps=4"], "was started with training.steps = 3, not 4"),
        (["--data", "moons"], "is a run on files"),
        (["--test", "fruit.csv"], "was started with no test file"),
        (["--calibrate"], "was started with calibrated = False, not True"),
    ],
)
def test_another_run_cannot_be_resumed(unfinished: Path, options: list[str], named: str):
    assert named in refusal("fit", "--out", "run", "--resume", *options)


def test_a_damaged_split_cannot_be_resumed(unfinished: Path):
    (unfinished / "run/split.json").write_text('{"files": {"kind": "table"}}')
    assert "split.json is damaged: it does not tell the run's files" not in refusal("fit", "--out", "run", "--resume")
    assert "split.json is damaged: it does not tell the run's rows" in refusal("fit", "--out", "run", "--resume")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["fruit.csv", "--target", "labels"], "there is no column 'labels'; the columns are id, size, weight"),
        (["fruit.csv"], "which column of fruit.csv holds the labels? --target COLUMN says it"),
        (["fruit.csv", "--target", "label"], "column 'id' has 120 different values"),
        (["fruit.csv", "--target", "size"], "column 'size', row 1: the value is"),
        (["fruit.csv", "--target", "label", "--ignore", "idd"], "no column 'idd' to ignore"),
        (["one.csv", "--target", "label"], "column 'label' has one class alone, apple"),
        (["none.csv", "--target", "label"], "column 'label' has no label in 120 rows"),
        (["two.csv", "--target", "label"], "two.csv has 2 rows to learn from; 10 are the least"),
        (["header.csv", "--target", "label"], "header.csv holds no rows"),
        (["nothing.csv", "--target", "label"], "nothing.csv does not exist"),
        (["fruit.txt", "--target", "label"], "its name must end in .csv"),
        (["fruit.csv", "--target", "label", "--test", "nothing.csv"], "nothing.csv does not exist"),
        (["fruit.csv", "--target", "label", "--ignore", "id", "--test", "narrow.csv"], "there is no column 'color'"),
        (["fruit.csv", "--target", "label", "--test-share", "1.5"], "--test-share must lie between 0 and 1, got 1.5"),
        (["fruit.csv", "--target", "label", "--test", "fruit.csv", "--test-share", "0.1"], "cannot go together"),
        (["fruit.csv", "--data", "moons"], "FILE and --data cannot go together"),
        (["fruit.csv", "--target", "label", "--labels", "5"], "--labels is for data sets by name"),
        (["--data", "moons", "--target", "label"], "--target is for your own data"),
        (["--image-folder", "empty"], "empty holds no images"),
        (["--image-folder", "nowhere"], "nowhere does not exist"),
        (["--image-folder", "empty", "--image-size", "big"], "--image-size is a height and a width"),
        (["fruit.csv", "--target", "label", "--kind", "size"], "--kind is COLUMN=number"),
        (["fruit.csv", "--target", "label", "--ignore", "id", "--recipe", "mnist"], "does not suit"),
        (["fruit.csv", "--target", "label", "--seed", "-1"], "seed must lie between 0 and"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(folder: Path, options: list[str], named: str):
    rows = fruit_rows()
    write_csv(folder / "fruit.csv", rows)
    write_csv(folder / "one.csv", [{**row, "label": row["label"] and "apple"} for row in rows])
    write_csv(folder / "none.csv", [{**row, "label": ""} for row in rows])
    write_csv(folder / "two.csv", [{**rows[0], "label": "a"}, {**rows[1], "label": "b"}])
    write_csv(folder / "narrow.csv", rows, ("size", "weight", "count", "label"))
    (folder / "header.csv").write_text("size,label\n")
    (folder / "fruit.txt").write_text("size,label\n1,2\n")
    (folder / "empty").mkdir()
    assert named in refusal(*fit_file_options(*options, "--out", "run"))
    assert not (folder / "run").exists()
    assert list(folder.glob(".*")) == []


def test_a_column_can_be_told_what_it_is(folder: Path):
    write_csv(folder / "fruit.csv", fruit_rows())
    assert invoke(*fit_file_options(*FRUIT, "--kind", "count=category")).exit_code == 0
    assert torch.isfinite(scnf.load("run").model.log_label_prior).all()
    table = scnf.load("run").table
    assert table is not None
    assert {column.name: column.kind for column in table.columns}["count"] == "category"
