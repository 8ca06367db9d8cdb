import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scnf.cli.main import app
from tests.cli.own_files import fruit_rows, write_csv, write_images
from tests.helpers import tiny_digits_recipe

Scnf = Callable[..., Result]


def invoke(*arguments: object) -> Result:
    """Run the command line in this process; what is no sentence for the user but a bug fails the test."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def invoke_json(*arguments: object) -> dict[str, Any]:
    """Run a command with ``--json`` and return the one object on its stdout."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def refusal(*arguments: object) -> str:
    """Run a command that must be refused and return its one sentence."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.strip()


def fit_options(*more: object) -> list[str]:
    """Return the arguments of a fit on moons that takes a moment."""
    options = ["fit", "--data", "moons", "--seed", 7, "--threads", 1, "--quiet", "--set", "training.steps=3", *more]
    return [str(option) for option in options]


@pytest.fixture(scope="session")
def moons_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on moons."""
    path = tmp_path_factory.mktemp("moons") / "run"
    assert invoke(*fit_options("--out", path)).exit_code == 0
    return path


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on digits, which are integers."""
    folder = tmp_path_factory.mktemp("digits")
    recipe = tiny_digits_recipe(folder)
    arguments = ["fit", "--data", "digits", "--recipe", recipe, "--threads", 1, "--quiet", "--out", folder / "run"]
    assert invoke(*arguments).exit_code == 0
    return folder / "run"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    assert os.listdir() == []
    return tmp_path


def fit_file_options(*more: object) -> list[str]:
    """Return the arguments of a fit on files that takes a moment."""
    return [str(option) for option in ["fit", "--threads", 1, "--quiet", "--set", "training.steps=3", *more]]


@pytest.fixture(scope="session")
def fruit_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a table, with its file beside it."""
    folder = tmp_path_factory.mktemp("fruit")
    write_csv(folder / "fruit.csv", fruit_rows())
    options = ["--target", "label", "--ignore", "id", "--test-share", 0.25, "--out", folder / "run"]
    assert invoke(*fit_file_options(folder / "fruit.csv", *options)).exit_code == 0
    return folder / "run"


@pytest.fixture(scope="session")
def image_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a folder of images, with the folder beside it."""
    folder = tmp_path_factory.mktemp("images")
    write_images(folder / "photos")
    options = ["--image-folder", folder / "photos", "--no-calibrate", "--out", folder / "run"]
    assert invoke(*fit_file_options(*options)).exit_code == 0
    return folder / "run"
