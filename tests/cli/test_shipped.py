"""A shipped name works wherever a run folder does, and ``scnf ship`` makes one."""

from pathlib import Path

import numpy as np
import pytest

import scnf
from scnf import shipped
from tests.cli.conftest import invoke, invoke_json, refusal
from tests.idx_files import TEST_ROWS
from tests.small_images import random_images, small_image_model


@pytest.mark.usefixtures("shelf")
def test_a_shipped_name_is_evaluated(small_images: Path):
    arguments = ["evaluate", "tiny-100", "--data-dir", small_images, "--threads", 1]
    metrics = invoke_json(*arguments, "--data", "mnist")
    assert metrics.items() >= {"model": "tiny-100", "test_data": "mnist", "test_rows": TEST_ROWS}.items()
    assert metrics == invoke_json(*arguments)
    assert {"error", "bits_per_dim", "ece"} <= metrics.keys()
    assert metrics["bits_per_dim"] == pytest.approx(metrics["nll"] / 784 / np.log(2))


@pytest.mark.usefixtures("shelf")
def test_a_shipped_name_predicts_and_samples():
    np.save("images.npy", random_images())
    assert invoke_json("predict", "tiny-100", "images.npy", "--out", "p.csv")["rows"] == 3
    assert invoke_json("sample", "tiny-100", "-n", 2, "--label", "4", "--out", "s.npz")["rows"] == 2


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    "command", [["evaluate"], ["predict", "a.npy", "--out", "p.csv"], ["sample", "--out", "s.csv"]]
)
def test_an_unknown_name_is_refused_with_the_known_ones(command: list[str]):
    assert "nothing does not exist" in (sentence := refusal(command[0], "nothing", *command[1:]))
    assert "shipped are tiny-100" in sentence
    assert not list(Path().iterdir())


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("fashion-mnist", "'fashion-mnist' has classes T-shirt/top, "),
        ("moons", "'moons' has rows of 2 values, but the model was trained on rows of 1×28×28 values"),
        ("nothing", "unknown data set 'nothing'"),
    ],
)
def test_data_that_do_not_suit_the_model_are_refused(small_images: Path, data: str, named: str):
    assert named in refusal("evaluate", "tiny-100", "--data", data, "--data-dir", small_images)


def test_a_run_is_shipped_once(shelf: Path, moons_run: Path):
    told = invoke_json("ship", moons_run, "moons-10")
    assert told["file"] == str(shelf / "moons-10.safetensors")
    assert shipped.shipped_models() == ["moons-10", "tiny-100"]
    assert scnf.load("moons-10").data == {"name": "moons", "labels": 10, "seed": 7}
    before = (shelf / "moons-10.safetensors").read_bytes()
    assert "exists already" in refusal("ship", "tiny-100", "moons-10")
    assert (shelf / "moons-10.safetensors").read_bytes() == before
    assert "moons-10-b is in" in invoke("ship", "moons-10", "moons-10-b").stdout


def test_what_is_not_fit_to_be_shipped_is_refused(shelf: Path, moons_run: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("../moons", "Moons", "moons--10", ""):
        assert "is no name for a shipped model" in refusal("ship", moons_run, name)
    assert "nowhere does not exist" in refusal("ship", "nowhere", "moons-10")
    monkeypatch.setattr(shipped, "LARGEST_FILE", 1_000)
    assert "a shipped model has 0.001 MB at the most" in refusal("ship", moons_run, "moons-10")
    assert [path.name for path in shelf.iterdir()] == ["tiny-100.safetensors"]


def test_a_model_of_unknown_data_needs_them_named(shelf: Path, small_images: Path):
    trained = small_image_model()
    trained.data = {}
    trained.save(Path("bare.safetensors"))
    assert "does not tell which data set it was trained on" in refusal("evaluate", "bare.safetensors")
    told = invoke_json("evaluate", "bare.safetensors", "--data", "mnist", "--data-dir", small_images)
    assert told["test_rows"] == TEST_ROWS
