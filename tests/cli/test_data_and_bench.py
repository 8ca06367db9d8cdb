import json
from pathlib import Path

import pytest

import scnf.benchmarks.overhead
import scnf.benchmarks.speed
from scnf.data import SOURCES
from scnf.evaluation.records import current_commit
from tests.cli.conftest import invoke, invoke_json, refusal


@pytest.mark.usefixtures("small_images_found")
def test_all_data_sets_are_listed():
    assert invoke_json("data", "list").keys() == SOURCES.keys()
    text = invoke("data", "list").stdout
    assert all(name in text for name in SOURCES)


@pytest.mark.usefixtures("small_images_found")
@pytest.mark.parametrize("name", SOURCES)
def test_a_data_set_is_described(name: str):
    info = invoke_json("data", "info", name)
    assert info["default_labels"] == SOURCES[name].default_labels
    assert info["default_recipe"] == SOURCES[name].default_recipe
    assert info["train_rows"] > info["test_rows"] > 0
    assert ", ".join(info["classes"]) in " ".join(invoke("data", "info", name).stdout.split())


def test_an_unknown_data_set_is_refused():
    assert "unknown data set 'nothing'; known are moons" in refusal("data", "info", "nothing")


def test_bench_overhead_prints_and_records_what_was_measured(folder: Path, monkeypatch: pytest.MonkeyPatch):
    values = {"overhead_percent": 3.25, "machine": {"cores": 2, "gpu": None}}
    monkeypatch.setattr(scnf.benchmarks.overhead, "measure", lambda: values)
    told = invoke_json("bench", "overhead")
    assert told == {**values, "commit": current_commit()}
    assert list(folder.iterdir()) == []
    text = invoke("bench", "overhead", "--out", "there").stdout
    assert json.loads((folder / "there" / "overhead.json").read_text()) == told
    assert "there/overhead.json" in text
    assert "3.25" in text
    assert "cores 2" in text


def test_bench_speed_prints_what_was_measured(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def run(recipes, out, quick, say):
        asked.append((recipes, out, quick))
        say("on the way")
        row = {"recipe": "paper-mnist", "train_images_per_second": 12.25, "peers": []}
        return {"speed": [row], "peer_note": "no peer"}

    monkeypatch.setattr(scnf.benchmarks.speed, "run", run)
    assert invoke_json("bench", "speed", "--quick", "--out", "there")["speed"][0]["train_images_per_second"] == 12.25
    text = invoke("bench", "speed", "--recipe", "a", "--recipe", "b").stdout
    assert "12.2" in text
    assert "no peer." in text
    assert asked[0][1:] == (Path("there"), True)
    assert "paper-mnist" in asked[0][0]
    assert asked[1] == (["a", "b"], Path("results/bench"), False)
    assert "results/bench" in text
    # Numbers that mean nothing never land among the results unasked.
    assert "results/bench" not in invoke("bench", "speed", "--quick").stdout
    assert asked[2][1:] == (None, True)
