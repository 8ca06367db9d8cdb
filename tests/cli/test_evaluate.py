import io
import json
from pathlib import Path

import pytest
import torch
from rich.console import Console

import scnf
from scnf.cli import row_progress
from scnf.cli.row_progress import RowProgress
from tests.cli.conftest import invoke, invoke_json, refusal


@pytest.mark.parametrize("run", ["moons_run", "digits_run"])
def test_the_same_numbers_come_from_disk(run: str, request: pytest.FixtureRequest):
    path: Path = request.getfixturevalue(run)
    told = json.loads((path / "metrics.json").read_text())
    for where in (path, path / "model.safetensors"):
        metrics = invoke_json("evaluate", where, "--threads", 1)
        assert metrics.pop("model") == str(where)
        assert metrics.pop("test_data") == told["data"]
        assert metrics.pop("test_rows") in (500, 599)
        assert metrics == {key: told[key] for key in metrics}
        assert {"error", "nll", "ece", "parameters"} <= metrics.keys()
        assert metrics["seconds"] > 0


def test_a_model_that_has_left_its_run_folder_tells_no_seconds(folder: Path, moons_run: Path):
    (folder / "moved.safetensors").write_bytes((moons_run / "model.safetensors").read_bytes())
    assert invoke_json("evaluate", "moved.safetensors")["seconds"] is None


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_damaged_metrics_are_refused(folder: Path, moons_run: Path, text: str):
    (folder / "model.safetensors").write_bytes((moons_run / "model.safetensors").read_bytes())
    (folder / "metrics.json").write_text(text)
    assert "metrics.json is damaged" in refusal("evaluate", folder)


def test_progress_is_shown_where_more_than_one_batch_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(row_progress, "_SECONDS_BETWEEN_LINES", 0.0)
    with RowProgress(Console(file=(plain := io.StringIO()))) as progress:
        for done in (2000, 4000, 5000):
            progress(done, 5000)
    assert plain.getvalue() == "2,000 of 5,000 rows\n4,000 of 5,000 rows\n"
    with RowProgress(Console(file=(live := io.StringIO()), force_terminal=True, width=80)) as progress:
        progress(5000, 5000)
        assert live.getvalue() == ""
        progress(2000, 5000)
        progress(5000, 5000)
    assert "5000/5000" in live.getvalue()


def test_people_get_a_table(moons_run: Path):
    assert "test error" in invoke("evaluate", moons_run).stdout


def test_what_is_no_model_is_refused(folder: Path, moons_run: Path):
    (folder / "empty").mkdir()
    (folder / "text.safetensors").write_text("no weights")
    assert "nothing does not exist" in refusal("evaluate", "nothing")
    assert "empty holds no model.safetensors" in refusal("evaluate", "empty")
    assert "text.safetensors is damaged" in refusal("evaluate", "text.safetensors")


def test_a_model_without_its_data_is_refused(folder: Path, moons_run: Path):
    trained = scnf.load(moons_run)
    trained.data = {}
    trained.save(Path("bare.safetensors"))
    assert "does not tell which data set" in refusal("evaluate", "bare.safetensors")
    assert torch.isfinite(trained.model.log_prob(torch.zeros(1, 2))).all()
