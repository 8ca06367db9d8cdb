"""What happens before a command runs: fast help, the version, usage errors."""

import subprocess
import sys

import pytest

import scnf
from tests.cli.conftest import invoke

COMMANDS = [
    *("fit", "evaluate", "predict", "sample", "encode", "export", "info", "report"),
    *("reproduce", "demo", "data", "bench"),
]


HEAVY = {"torch", "sklearn", "matplotlib", "numpy", "pydantic", "pyarrow", "PIL"}


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["reproduce", "--help"], ["data", "list", "-h"]])
def test_help_imports_nothing_heavy(arguments: list[str]):
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from scnf.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "scnf.cli.main" in imported
    assert imported & HEAVY == set()


def test_the_installed_program_answers():
    result = subprocess.run(
        [sys.executable, "-c", "from scnf.cli.main import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"scnf {scnf.__version__}\n"


def test_help_names_every_command():
    result = invoke("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str):
    result = invoke(command, "-h")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert "<bool>" not in result.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["fit"], ["fit", "--nothing"], ["fit", "--labels", "ten"]])
def test_usage_errors_exit_with_2(arguments: list[str]):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr
    assert "Traceback" not in result.stderr
