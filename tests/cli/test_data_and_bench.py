import pytest

import scnf.benchmarks.overhead
from scnf.data import SOURCES
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


def test_bench_overhead_prints_what_was_measured(monkeypatch: pytest.MonkeyPatch):
    values = {"overhead_percent": 3.25, "machine": {"cores": 2, "gpu": None}}
    monkeypatch.setattr(scnf.benchmarks.overhead, "measure", lambda: values)
    assert invoke_json("bench", "overhead") == values
    text = invoke("bench", "overhead").stdout
    assert "3.25" in text
    assert "cores 2" in text
