from pathlib import Path

import numpy as np
import pytest

import scnf
from tests.cli.conftest import invoke, invoke_json, refusal


def test_samples_depend_on_the_seed_alone(folder: Path, moons_run: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert invoke("sample", moons_run, "-n", 30, "--seed", seed, "--out", f"{name}.csv").exit_code == 0
    a, b, c = ((folder / f"{name}.csv").read_text() for name in "abc")
    assert a == b != c
    lines = a.splitlines()
    assert len(lines) == 31
    assert lines[0] == "x0,x1,label"
    assert {line.split(",")[2] for line in lines[1:]} == {"upper", "lower"}


def test_one_label_and_no_noise(folder: Path, moons_run: Path):
    told = invoke_json("sample", moons_run, "-n", 3000, "--label", "lower", "--temperature", 0, "--out", "s.npz")
    assert (told["rows"], told["label"]) == (3000, "lower")
    with np.load("s.npz") as samples:
        assert set(samples["label"]) == {"lower"}
        assert samples["x"].shape == (3000, 2)
        assert np.ptp(samples["x"], axis=0).max() < 1e-4


def test_samples_of_integers_are_integers_and_can_be_predicted(folder: Path, digits_run: Path):
    assert invoke("sample", digits_run, "-n", 20, "--out", "s.npz").exit_code == 0
    with np.load("s.npz") as samples:
        x = samples["x"]
    assert x.shape == (20, 1, 8, 8)
    assert np.issubdtype(x.dtype, np.integer)
    assert x.min() >= 0
    assert x.max() <= 16
    assert invoke_json("predict", digits_run, "s.npz", "--out", "p.csv")["rows"] == 20


@pytest.mark.parametrize("scale", [1, 255])
def test_images_are_drawn_as_training_had_them(folder: Path, scale: int):
    x = np.random.default_rng(0).integers(0, 256, (40, 5, 5), dtype=np.uint8) / scale
    classifier = scnf.SCNFClassifier(settings={"training.steps": 2}, calibrate=False, random_state=0)
    classifier.fit(x, np.arange(40) % 2).save("model.safetensors")
    assert invoke("sample", "model.safetensors", "-n", 7, "--out", "drawn.npz").exit_code == 0
    drawn = np.load("drawn.npz")["x"]
    assert drawn.shape == (7, 5, 5)
    assert drawn.max() <= x.max()
    assert invoke("predict", "model.safetensors", "drawn.npz", "--out", "p.csv").exit_code == 0


@pytest.mark.parametrize("name", ["drawn", "drawn.csv", "drawn.npz"])
def test_a_folder_that_is_there_is_left_alone(folder: Path, digits_run: Path, name: str):
    (folder / name).mkdir()
    assert f"{name} exists already; choose another --out" in refusal("sample", digits_run, "--out", name)
    assert list((folder / name).iterdir()) == []


def test_a_class_cannot_lead_out_of_the_folder(folder: Path):
    x = np.random.default_rng(0).integers(0, 256, (40, 1, 5, 5), dtype=np.uint8)
    for names, message in [(("..", "a"), "the class '..' cannot be the name of a folder"), (("a/b", "a_b"), "share a")]:
        classifier = scnf.SCNFClassifier(settings={"training.steps": 1}, calibrate=False, random_state=0)
        classifier.fit(x, np.array(names)[np.arange(40) % 2]).save(f"{names[1]}.safetensors")
        assert message in refusal("sample", f"{names[1]}.safetensors", "-n", 3, "--out", "drawn")
        assert not (folder / "drawn").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--label", "nothing", "--out", "s.csv"], "unknown label 'nothing'; the model has upper, lower"),
        (["--out", "s.txt"], "--out must end in .csv, .tsv, .parquet, .feather or .npz, got s.txt"),
        (["--out", "nowhere/s.csv"], "folder nowhere of --out does not exist"),
        (["--seed", str(2**40), "--out", "s.csv"], "seed must lie between 0 and"),
        (["--temperature", "nan", "--out", "s.csv"], "--temperature must be a finite number, 0 or more, got nan"),
        (["--temperature", "inf", "--out", "s.csv"], "--temperature must be a finite number, 0 or more, got inf"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, moons_run: Path, options: list[str], named: str):
    assert named in refusal("sample", moons_run, *options)
    assert list(folder.iterdir()) == []
