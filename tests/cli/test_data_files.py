"""Data sets that are files: found, fetched, and used by other commands."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scnf.data import SOURCES
from scnf.data.published import TEST_IMAGES
from tests.cli.conftest import invoke, invoke_json, refusal
from tests.idx_files import Mirror, published_at, serve, small_files, write_files, zipped

FILES = zipped(small_files())
TINY_RECIPE = """
name = "tiny-images"
[model]
z_f = 4
[model.f]
kind = "ffjord"
hidden = 4
solver = "rk4"
solver_steps = 1
[model.h]
kind = "gaussian"
[training]
steps = 2
batch_size = 32
"""


@pytest.fixture
def mirror(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """A machine without data, and the one mirror of ``mnist``."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve(dict(FILES)) as mirror:
        published = published_at(mirror.url, files=FILES)
        monkeypatch.setitem(SOURCES, "mnist", replace(SOURCES["mnist"], published=published))
        yield mirror


def fit_images(*more: object) -> list[object]:
    Path("tiny.toml").write_text(TINY_RECIPE)
    return ["fit", "--data", "mnist", "--recipe", "tiny.toml", "--threads", 1, "--out", "run", *more]


def test_list_tells_where_files_are(no_data: Path):
    assert invoke_json("data", "list")["moons"].items() >= {"available": True, "folder": None}.items()
    assert invoke_json("data", "list")["mnist"].items() >= {"available": False, "folder": None}.items()
    assert "not here yet" in invoke("data", "list").stdout
    write_files(no_data / "own" / "MNIST" / "raw", small_files())
    folder = str(no_data / "own" / "MNIST" / "raw")
    listed = invoke_json("data", "list", "--data-dir", no_data / "own")
    assert listed["mnist"].items() >= {"available": True, "folder": folder}.items()


def test_fetch_downloads_once(mirror: Mirror, no_data: Path):
    folder = str(no_data / "cache" / "scnf" / "mnist")
    result = invoke("data", "fetch", "mnist", "--json")
    assert json.loads(result.stdout) == {"name": "mnist", "folder": folder, "downloaded": True}
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == list(FILES)
    assert invoke_json("data", "fetch", "mnist") == {"name": "mnist", "folder": folder, "downloaded": False}
    assert f"already in {folder}" in invoke("data", "fetch", "mnist").stdout
    assert len(mirror.asked) == len(FILES)
    assert invoke_json("data", "info", "mnist")["folder"] == folder


def test_fetch_into_a_named_folder(mirror: Mirror, no_data: Path):
    assert f"now in {Path('own/mnist')}" in invoke("data", "fetch", "mnist", "--data-dir", "own").stdout
    assert {path.name for path in (no_data / "own" / "mnist").glob("*.gz")} == FILES.keys()
    assert invoke_json("data", "info", "mnist", "--data-dir", "own")["train_rows"] == 200


def test_what_is_made_needs_no_files():
    assert invoke_json("data", "fetch", "moons") == {"name": "moons", "folder": None, "downloaded": False}
    assert invoke("data", "fetch", "digits").stdout == "digits needs no files.\n"


def test_info_downloads_nothing(mirror: Mirror):
    assert "mnist is not downloaded yet; `scnf data fetch mnist`" in refusal("data", "info", "mnist")
    assert mirror.asked == []


@pytest.mark.parametrize("command", [["data", "info", "mnist"], ["fit", "--data", "mnist", "--recipe", "tiny.toml"]])
def test_a_named_folder_without_the_files_is_refused(mirror: Mirror, no_data: Path, command: list[str]):
    (no_data / "tiny.toml").write_text(TINY_RECIPE)
    options = ["--out", "run"] if command[0] == "fit" else []
    sentence = refusal(*command, "--data-dir", no_data, *options)
    assert f"{no_data} does not hold mnist: no train-images-idx3-ubyte, " in sentence
    assert f"`scnf data fetch mnist --data-dir {no_data}` downloads it" in sentence
    assert mirror.asked == []
    assert not (no_data / "run").exists()


def test_fit_downloads_and_a_run_knows_no_folder(mirror: Mirror, no_data: Path):
    result = invoke(*fit_images())
    assert result.exit_code == 0, result.output
    assert f"{TEST_IMAGES}.gz" in result.stderr
    assert not any(str(no_data).encode() in path.read_bytes() for path in (no_data / "run").iterdir())
    split = json.loads((no_data / "run" / "split.json").read_text())
    assert (split["data"], split["labels"], len(split["labelled_rows"])) == ("mnist", 100, 100)


def test_quiet_downloads_are_quiet(mirror: Mirror):
    result = invoke(*fit_images("--quiet"))
    assert (result.exit_code, result.output) == (0, "")
    assert mirror.asked


def test_evaluate_and_resume_take_the_folder(small_images: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch):
    nowhere = published_at("http://127.0.0.1:9/", files=FILES)
    monkeypatch.setitem(SOURCES, "mnist", replace(SOURCES["mnist"], published=nowhere))
    metrics = invoke_json(*fit_images("--data-dir", small_images, "--quiet"))
    again = invoke_json("evaluate", "run", "--data-dir", small_images, "--threads", 1)
    assert {key: again[key] for key in ("error", "nll", "ece")} == {
        key: metrics[key] for key in ("error", "nll", "ece")
    }
    assert invoke_json("fit", "--out", "run", "--resume", "--data-dir", small_images)["error"] == metrics["error"]
    assert "could not download" in refusal("evaluate", "run")


def test_fit_without_data_and_network_is_one_sentence(mirror: Mirror, no_data: Path):
    mirror.files.clear()
    sentence = refusal(*fit_images())
    assert f"tried {mirror.url} (HTTP status 404)" in sentence
    assert "--data-dir or SCNF_DATA_DIR" in sentence
    assert not (no_data / "run").exists()
