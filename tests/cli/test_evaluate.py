import json
from pathlib import Path

import pytest
import torch

import scnf
from tests.cli.conftest import invoke, invoke_json, refusal


@pytest.mark.parametrize("run", ["moons_run", "digits_run"])
def test_the_same_numbers_come_from_disk(run: str, request: pytest.FixtureRequest):
    path: Path = request.getfixturevalue(run)
    told = json.loads((path / "metrics.json").read_text())
    for where in (path, path / "model.safetensors"):
        metrics = invoke_json("evaluate", where, "--threads", 1)
        assert metrics.pop("model") == str(where)
        assert metrics == {key: told[key] for key in metrics}
        assert {"error", "nll", "ece", "parameters"} <= metrics.keys()


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
    assert "bare.safetensors does not tell which data set" in refusal("evaluate", "bare.safetensors")
    assert torch.isfinite(trained.model.log_prob(torch.zeros(1, 2))).all()
