"""A run that is stopped at any time goes on to the result of a run that is not."""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import scnf.runs.run
from scnf import load_recipe
from scnf.cli.progress import FitProgress
from scnf.modelfile import MODEL_FILE
from scnf.runs import CHECKPOINT_FILE, HISTORY_FILE, METRICS_FILE
from scnf.runs.folder import alone_in
from scnf.training.trial import Trial
from tests.cli.conftest import fit_file_options, fit_options, invoke, invoke_json, refusal
from tests.cli.own_files import fruit_rows, write_csv

PROGRAM = [sys.executable, "-c", "from scnf.cli.main import main; main()"]
_CLOCKS = ("seconds", "minutes", "cpu_seconds", "out")


def outcome(folder: Path) -> tuple[bytes, bytes, dict[str, Any]]:
    """Return the model file, the training curve and the metrics, without what the clock says."""
    metrics = json.loads((folder / METRICS_FILE).read_text())
    without_clocks = {key: value for key, value in metrics.items() if key not in _CLOCKS}
    return (folder / MODEL_FILE).read_bytes(), (folder / HISTORY_FILE).read_bytes(), without_clocks


def long_fit(out: str | Path) -> list[str]:
    small = ["--set", "model.f.hidden=8", "--set", "model.h.hidden=8", "--set", "training.n_init=2"]
    return fit_options("--out", out, *small, "--set", "training.steps=100")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The folder of a run that nothing stopped, and the seconds that the program took."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    started = time.monotonic()
    program = subprocess.run([*PROGRAM, *long_fit(folder), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(program.stdout)["out"] == str(folder)
    assert program.stderr == ""
    return folder, time.monotonic() - started


def kill(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL


def check_same(resumed: Path, whole: Path) -> None:
    assert outcome(resumed) == outcome(whole)
    assert {path.name for path in resumed.iterdir()} == {path.name for path in whole.iterdir()}


def test_after_a_kill_while_training_the_run_goes_on_to_the_same_result(folder: Path, whole: tuple[Path, float]):
    program = subprocess.Popen([*PROGRAM, *long_fit("run"), "--checkpoint-every", "0"])
    while not (folder / "run" / CHECKPOINT_FILE).is_file() and program.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    kill(program)
    assert not (folder / "run" / METRICS_FILE).exists()
    assert invoke("fit", "--out", "run", "--resume", "--quiet").exit_code == 0
    check_same(folder / "run", whole[0])


def test_kills_at_random_moments_change_nothing(folder: Path, whole: tuple[Path, float]):
    moments = [random.uniform(0, whole[1]) for _ in range(3)]
    for moment in moments:
        program = subprocess.Popen([*PROGRAM, *long_fit("run"), "--resume", "--checkpoint-every", "0"])
        try:
            program.wait(moment)
        except subprocess.TimeoutExpired:
            kill(program)
    assert invoke(*long_fit("run"), "--resume").exit_code == 0, moments
    check_same(folder / "run", whole[0])


class Killed(BaseException):
    """Stands for a kill at a chosen place."""


@pytest.mark.parametrize("file", ["history.json", "metrics.json"])
def test_a_kill_while_the_results_are_written(
    folder: Path, moons_run: Path, monkeypatch: pytest.MonkeyPatch, file: str
):
    write = scnf.runs.run.write_record

    def killed(path: Path, record: dict[str, Any]) -> None:
        if path.name == file:
            path.with_name(f"{file}.partial").write_text("{")
            raise Killed
        write(path, record)

    monkeypatch.setattr(scnf.runs.run, "write_record", killed)
    with pytest.raises(Killed):
        invoke(*fit_options("--out", "run"))
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert invoke(*fit_options("--out", "run", "--resume")).exit_code == 0
    assert outcome(folder / "run") == outcome(moons_run)
    assert list((folder / "run").glob("*.partial")) == []


def test_a_kill_before_the_folder_is_there(folder: Path, moons_run: Path):
    assert invoke(*fit_options("--out", "run", "--resume")).exit_code == 0
    assert outcome(folder / "run") == outcome(moons_run)


def test_ctrl_c_keeps_a_checkpoint_and_tells_how_to_go_on(
    folder: Path, moons_run: Path, monkeypatch: pytest.MonkeyPatch
):
    def press_ctrl_c(self: FitProgress, restart: int, step: int, loss: float, done: float) -> None:
        if step == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(FitProgress, "__call__", press_ctrl_c)
    stopped = invoke(*fit_options("--out", "run"))
    assert stopped.exit_code == 130
    assert stopped.stderr == "stopped; `scnf fit --out run --resume` goes on from here\n"
    assert (folder / "run" / CHECKPOINT_FILE).is_file()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert invoke("fit", "--out", "run", "--resume", "--quiet").exit_code == 0
    assert outcome(folder / "run") == outcome(moons_run)


def test_ctrl_c_acts_during_calibration_too(folder: Path, monkeypatch: pytest.MonkeyPatch):
    write_csv(folder / "fruit.csv", fruit_rows())
    fits, train = [], Trial.run

    def press_ctrl_c(self: FitProgress, what: str) -> None:
        if what.startswith("calibrating"):
            fits.clear()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(FitProgress, "stage", press_ctrl_c)
    monkeypatch.setattr(Trial, "run", lambda trial, after_step: fits.append(trial) or train(trial, after_step))
    stopped = invoke(*fit_file_options("fruit.csv", "--target", "label", "--ignore", "id", "--out", "run"))
    assert stopped.exit_code == 130
    assert [trial.step for trial in fits] == [1]
    assert stopped.stderr == "stopped; `scnf fit --out run --resume` goes on from here\n"
    names = {path.name for path in (folder / "run").iterdir()}
    assert names == {"recipe.toml", "split.json", CHECKPOINT_FILE}


def test_a_second_session_in_the_folder_is_refused(folder: Path, moons_run: Path):
    shutil.copytree(moons_run, folder / "run")
    (folder / "run" / METRICS_FILE).unlink()
    with alone_in(folder / "run"):
        told = refusal("fit", "--out", "run", "--resume", "--quiet")
    assert told == "Error: another session is training in run; let it end first, or choose another folder"
    assert invoke("fit", "--out", "run", "--resume", "--quiet").exit_code == 0
    check_same(folder / "run", moons_run)


def test_a_lock_that_a_kill_left_behind_is_in_nobodys_way(folder: Path, moons_run: Path):
    shutil.copytree(moons_run, folder / "run")
    (folder / "run" / ".lock").touch()
    assert invoke("fit", "--out", "run", "--resume").exit_code == 0
    assert not (folder / "run" / ".lock").exists()


def test_a_new_name_and_description_are_no_other_recipe(folder: Path, moons_run: Path):
    text = (moons_run / "recipe.toml").read_text()
    renamed = re.sub(r"(?m)^(name|description) = .*$", r'\1 = "other"', text)
    assert renamed != text
    (folder / "other.toml").write_text(renamed)
    assert invoke("fit", "--out", moons_run, "--resume", "--recipe", "other.toml").exit_code == 0


def test_a_finished_run_is_reported_and_not_touched(moons_run: Path):
    before = {path: path.stat().st_mtime_ns for path in moons_run.iterdir()}
    metrics = invoke_json("fit", "--out", moons_run, "--resume")
    assert metrics == {**json.loads((moons_run / METRICS_FILE).read_text()), "out": str(moons_run)}
    assert {path: path.stat().st_mtime_ns for path in moons_run.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--data", "circles"], "was started with data = moons, not circles"),
        (["--labels", "20"], "was started with labels = 10, not 20"),
        (["--seed", "8"], "was started with seed = 7, not 8"),
        (["--set", "training.steps=4"], "was started with training.steps = 3, not 4"),
        (["--max-minutes", "5"], "was started with training.max_minutes = None, not 5.0"),
        (["--recipe", "toy"], f"was started with training.steps = 3, not {load_recipe('toy').training.steps}"),
    ],
)
def test_another_run_cannot_be_resumed(moons_run: Path, options: list[str], named: str):
    assert named in refusal("fit", "--out", moons_run, "--resume", *options)


def test_only_a_run_folder_can_be_resumed(folder: Path, moons_run: Path):
    (folder / "empty").mkdir()
    assert "empty is no run folder: it holds no recipe.toml" in refusal("fit", "--out", "empty", "--resume")
    assert "a new run needs data" in refusal("fit", "--out", "nothing", "--resume")
    shutil.copytree(moons_run, folder / "run")
    (folder / "run" / "split.json").write_text("{")
    assert "split.json is damaged" in refusal("fit", "--out", "run", "--resume")


@pytest.mark.parametrize("key", ["data", "labels", "seed", "labelled_rows"])
@pytest.mark.parametrize("value", [None, {}])
def test_a_split_that_is_not_told_cannot_be_resumed(folder: Path, moons_run: Path, key: str, value: Any):
    shutil.copytree(moons_run, folder / "run")
    path = folder / "run" / "split.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert f"split.json is damaged: it does not tell the run's {key}" in refusal("fit", "--out", "run", "--resume")
