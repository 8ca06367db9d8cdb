"""``sample``, ``encode``, ``evaluate`` and ``info`` with models of people's own files."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import scnf
from scnf.runs import METRICS_FILE
from scnf.tensorfile import read_tensors, write_tensors
from tests.cli.conftest import fit_file_options, invoke, invoke_json, refusal
from tests.cli.own_files import fruit_rows, write_csv, write_images

FEATURES = ["size", "weight", "count", "color"]


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_samples_have_the_columns_and_types_of_the_data(folder: Path, fruit_run: Path, name: str):
    told = invoke_json("sample", fruit_run, "-n", 300, "--out", name)
    assert told["rows"] == 300
    frame = pd.read_csv(name) if name == "s.csv" else pd.read_parquet(name)
    assert list(frame) == [*FEATURES, "label"]
    assert frame["count"].dtype == np.int64
    assert set(frame["color"].dropna()) == {"red", "blue"}
    assert set(frame["label"]) == {"apple", "melon"}
    assert frame["weight"].isna().any()
    assert invoke_json("predict", fruit_run, name, "--out", "p.csv")["rows"] == 300


def test_samples_of_a_class(folder: Path, fruit_run: Path):
    invoke("sample", fruit_run, "-n", 20, "--label", "melon", "--out", "s.tsv")
    assert pd.read_csv("s.tsv", sep="\t")["label"].tolist() == ["melon"] * 20
    assert "an .npz file holds numbers, but column 'color' holds names" in refusal(
        "sample", fruit_run, "--out", "s.npz"
    )


def test_images_are_drawn_into_folders_of_their_classes(folder: Path, image_run: Path):
    assert invoke("sample", image_run, "-n", 30, "--out", "drawn").exit_code == 0
    files = sorted(folder.glob("drawn/*/*.png"))
    assert len(files) == 30
    assert {file.parent.name for file in files} == {"dark", "light"}
    with Image.open(files[0]) as image:
        assert (image.size, image.mode) == ((6, 6), "L")
    assert invoke_json("predict", image_run, "drawn", "--out", "p.csv")["rows"] == 30
    assert "drawn" in refusal("sample", image_run, "--out", "drawn")
    assert "folder nowhere of --out does not exist" in refusal("sample", image_run, "--out", "nowhere/drawn")
    assert len(sorted(folder.glob("drawn/*/*.png"))) == 30


def test_rows_have_no_folder(folder: Path, fruit_run: Path):
    assert "--out must end in" in refusal("sample", fruit_run, "--out", "drawn")


@pytest.mark.parametrize(("latent", "width"), [("z_f", "z_f"), ("all", "all"), ("z_h", "z_h")])
def test_latents_are_those_of_the_estimator(folder: Path, fruit_run: Path, latent: str, width: str):
    write_csv(folder / "new.csv", fruit_rows(30, seed=4))
    told = invoke_json("encode", fruit_run, "new.csv", "--latent", latent, "--id", "id", "--out", "z.parquet")
    frame = pd.read_parquet("z.parquet")
    z = scnf.SCNFClassifier.load(fruit_run).transform(pd.read_csv("new.csv")[FEATURES], latent=latent)
    assert list(frame) == ["id", *(f"z{i}" for i in range(z.shape[1]))]
    np.testing.assert_allclose(frame.iloc[:, 1:], z, rtol=1e-4, atol=1e-5)
    assert told.get("labels_predicted") == (30 if latent == "z_h" else None)


def test_z_h_hides_the_label_that_is_given(folder: Path, fruit_run: Path):
    rows = fruit_rows(30, every=3, seed=4)
    write_csv(folder / "new.csv", rows)
    told = invoke_json("encode", fruit_run, "new.csv", "--latent", "z_h", "--label", "label", "--out", "z.npz")
    assert (told["labels_given"], told["labels_predicted"]) == (10, 20)
    estimator = scnf.SCNFClassifier.load(fruit_run)
    features = pd.read_csv("new.csv")[FEATURES]
    y = [row["label"] or guess for row, guess in zip(rows, estimator.predict(features).tolist(), strict=True)]
    with np.load("z.npz") as arrays:
        np.testing.assert_allclose(arrays["z"], estimator.transform(features, y, latent="z_h"), rtol=1e-4, atol=1e-5)
    shown = invoke("encode", fruit_run, "new.csv", "--latent", "z_h", "--label", "label", "--out", "z.csv").stdout
    assert "given for 10 rows and predicted for 20" in shown


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--latent", "z", "--out", "z.csv"], "latent must be 'z_f', 'z_h' or 'all', got 'z'"),
        (["--label", "label", "--out", "z.csv"], "--label is for --latent z_h; z_f does not depend on a label"),
        (["--latent", "z_h", "--label", "color", "--out", "z.csv"], "the model does not know the label"),
        (["--latent", "z_h", "--label", "nothing", "--out", "z.csv"], "there is no column 'nothing'"),
        (["--out", "z.txt"], "--out must end in"),
    ],
)
def test_what_cannot_be_encoded_is_refused(folder: Path, fruit_run: Path, options: list[str], named: str):
    write_csv(folder / "new.csv", fruit_rows(10))
    assert named in refusal("encode", fruit_run, "new.csv", *options)
    assert [path.name for path in folder.iterdir()] == ["new.csv"]


def test_evaluate_repeats_the_metrics_of_a_run(fruit_run: Path):
    told = json.loads((fruit_run / METRICS_FILE).read_text())
    again = invoke_json("evaluate", fruit_run, "--threads", 1)
    keys = ("error", "nll", "ece", "ece_uncalibrated", "test_rows", "test_labels", "labels", "seconds")
    assert {key: again[key] for key in keys} == {key: told[key] for key in keys}


def test_evaluate_on_a_file_agrees_with_predict(folder: Path, fruit_run: Path):
    rows = [{**row, "kind": row["label"]} for row in fruit_rows(60, every=2, seed=5)]
    write_csv(folder / "new.csv", rows)
    metrics = invoke_json("evaluate", fruit_run, "new.csv")
    write_csv(folder / "other.csv", rows, (*FEATURES, "kind"))
    also = invoke_json("evaluate", fruit_run, "other.csv", "--target", "kind")
    assert {**metrics, "test_data": ""} == {**also, "test_data": ""}
    invoke("predict", fruit_run, "new.csv", "--out", "p.csv")
    frame = pd.read_csv("p.csv")
    wrong = [label != row["label"] for label, row in zip(frame["label"], rows, strict=True) if row["label"]]
    assert (metrics["test_rows"], metrics["test_labels"]) == (60, 30)
    assert metrics["error"] == pytest.approx(100 * np.mean(wrong))
    assert metrics["nll"] == pytest.approx(-frame["log_density"].mean(), rel=1e-5)


def test_evaluate_on_images(folder: Path, image_run: Path):
    write_images(folder / "new", count=4)
    metrics = invoke_json("evaluate", image_run, "new")
    assert (metrics["test_rows"], metrics["test_labels"]) == (12, 8)
    assert metrics["bits_per_dim"] > 0


def test_a_named_model_is_measured_on_files_too(folder: Path, moons_run: Path):
    split = scnf.load_split("moons", 10, 7)
    np.savez("moons.npz", x=split.x_test, y=np.array(split.classes)[split.y_test])
    metrics, own = invoke_json("evaluate", moons_run, "moons.npz"), invoke_json("evaluate", moons_run)
    assert {key: metrics[key] for key in ("error", "ece")} == {key: own[key] for key in ("error", "ece")}
    assert metrics["nll"] == pytest.approx(own["nll"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["IMAGES"], "kept no rows for a test"),
        (["FRUIT/model.safetensors"], "does not tell where its test rows are"),
        (["FRUIT", "new.csv", "--target", "nothing"], "there is no column 'nothing'"),
        (["FRUIT", "new.csv", "--data", "moons"], "FILE and --data cannot go together"),
        (["FRUIT", "--target", "label"], "no FILE is given"),
        (["MOONS", "new.csv"], "which column of new.csv holds the labels?"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    folder: Path, fruit_run: Path, image_run: Path, moons_run: Path, arguments: list[str], named: str
):
    write_csv(folder / "new.csv", fruit_rows(10))
    places = {"FRUIT": fruit_run, "IMAGES": image_run, "MOONS": moons_run}
    first, *rest = arguments
    head, _, tail = first.partition("/")
    assert named in refusal("evaluate", places[head] / tail, *rest)


def test_info_tells_the_model_and_how_to_repeat_it(folder: Path, fruit_run: Path):
    told = invoke_json("info", fruit_run)
    assert (told["data"], told["target"], told["classes"]) == ("fruit.csv", "label", ["apple", "melon"])
    assert [column["name"] for column in told["columns"]] == FEATURES
    assert told["metrics"] == json.loads((fruit_run / METRICS_FILE).read_text())
    command = shlex.split(told["repeat"])
    assert command[:2] == ["scnf", "fit"]
    again = [*command[1 : command.index("--out")], "--out", "again", "--threads", "1", "--quiet"]
    assert invoke(*again).exit_code == 0
    assert (folder / "again/model.safetensors").read_bytes() == (fruit_run / "model.safetensors").read_bytes()


def test_people_read_info(fruit_run: Path, moons_run: Path, image_run: Path):
    shown = invoke("info", fruit_run).stdout
    for text in (
        "fruit.csv",
        "apple, melon",
        "whole number",
        "red",
        "test error",
        "To repeat the run:",
        "--test-share",
    ):
        assert text in shown
    assert "--data moons --labels 10 --seed 7" in invoke("info", moons_run).stdout
    assert "whole numbers 0 to 255" in invoke("info", image_run).stdout


def test_info_of_a_run_that_is_not_finished(folder: Path, fruit_run: Path):
    shutil.copytree(fruit_run, "run")
    (folder / "run/model.safetensors").unlink()
    unfinished = {"model": "run", "finished": False, "diverged": False, "repeat": "scnf fit --out run --resume"}
    assert invoke_json("info", "run") == unfinished
    assert "is not finished" in invoke("info", "run").stdout


@pytest.mark.parametrize("command", ["info", "predict", "sample", "encode", "evaluate"])
def test_damaged_and_newer_models_are_refused(folder: Path, fruit_run: Path, command: str):
    write_csv(folder / "new.csv", fruit_rows(10))
    more = {
        "info": [],
        "sample": ["--out", "out.csv"],
        "evaluate": ["new.csv"],
        "predict": ["new.csv", "--out", "out.csv"],
        "encode": ["new.csv", "--out", "out.csv"],
    }[command]
    whole = (fruit_run / "model.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    tensors, values = read_tensors(fruit_run / "model.safetensors")
    assert values["format"] == 2
    write_tensors(folder / "newer.safetensors", tensors, {**values, "format": 9})
    (folder / "flipped.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for name in ("cut", "flipped"):
        assert f"{name}.safetensors is damaged" in refusal(command, f"{name}.safetensors", *more)
    assert "newer.safetensors has format 9; this version of scnf reads up to 2" in refusal(
        command, "newer.safetensors", *more
    )
    assert not (folder / "out.csv").exists()


def test_an_output_that_exists_is_left_alone(folder: Path, fruit_run: Path):
    write_csv(folder / "new.csv", fruit_rows(10))
    (folder / "out.csv").write_text("mine")
    for arguments in (["predict", fruit_run, "new.csv"], ["sample", fruit_run], ["encode", fruit_run, "new.csv"]):
        assert "out.csv exists already" in refusal(*arguments, "--out", "out.csv")
    (folder / "run").mkdir()
    options = ["new.csv", "--target", "label", "--ignore", "id", "--out", "run"]
    assert "run exists already" in refusal(*fit_file_options(*options))
    assert (folder / "out.csv").read_text() == "mine"
