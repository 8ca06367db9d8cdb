"""A shipped name works wherever a run folder does, and ``scnf ship`` makes one."""

from pathlib import Path

import numpy as np
import pytest
import typer

import scnf
from scnf import shipped
from scnf.cli.main import app
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


# Every command that takes a model, with what else it needs; the report by name is tested with the reports.
NEEDED = {
    "evaluate": [],
    "predict": ["images.npy", "--out", "p.csv"],
    "sample": ["-n", 2, "--label", "4", "--out", "s.npz"],
    "encode": ["images.npy", "--latent", "z_h", "--out", "z.npz"],
    "export": ["--out", "m.pt2"],
    "info": [],
    "report": ["--out", "r.html"],
}
ROWS_TOLD = {"predict": 3, "sample": 2, "encode": 3}


def test_all_commands_that_take_a_model_are_tried():
    commands = typer.main.get_command(app).commands
    takes_model = {name for name, command in commands.items() if any(p.name == "run" for p in command.params)}
    assert takes_model == NEEDED.keys() | {"ship"}


@pytest.mark.usefixtures("small_images_found")
@pytest.mark.parametrize("command", sorted(NEEDED.keys() - {"export", "report"}))
def test_a_shipped_name_does_what_its_file_does(shelf: Path, command: str):
    np.save("images.npy", random_images())
    by_name = invoke_json(command, "tiny-100", *NEEDED[command])
    assert by_name.get("rows") == ROWS_TOLD.get(command)
    if "out" in by_name:
        Path(by_name["out"]).unlink()
    by_file = invoke_json(command, shelf / "tiny-100.safetensors", *NEEDED[command])
    assert {**by_file, "model": None} == {**by_name, "model": None}


@pytest.mark.usefixtures("shelf")
def test_how_many_labels_it_had_is_told():
    labels = invoke_json("info", "tiny-100")["labels"]
    assert f"{labels}, of all its training rows" in invoke("info", "tiny-100").stdout


@pytest.mark.usefixtures("shelf")
def test_a_shipped_name_is_exported():
    told = invoke_json("export", "tiny-100", *NEEDED["export"])  # once: it takes seconds
    assert told["probability"] < 1e-4
    assert Path("m.pt2").stat().st_size == told["bytes"]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    "command", [[name, *needed] for name, needed in NEEDED.items()], ids=lambda command: command[0]
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
