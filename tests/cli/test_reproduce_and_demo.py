"""``scnf reproduce`` and ``scnf demo``; what they run is tested in tests/experiments."""

import json

import pytest

from scnf.experiments import Options
from tests.cli.conftest import invoke, invoke_json, refusal


def test_an_unknown_experiment_is_refused(folder):
    assert refusal("reproduce", "table9") == "Error: unknown experiment 'table9'; known are table1"
    assert list(folder.iterdir()) == []


def test_an_unknown_row_is_refused(folder):
    assert "unknown recipe 'nonsense'; known are glow-glow" in refusal("reproduce", "table1", "--recipes", "nonsense")


def test_rendering_prints_the_files(folder):
    result = invoke("reproduce", "table1", "--render", "--out", folder)
    assert result.exit_code == 0
    assert "table.md" in result.stdout
    assert invoke_json("reproduce", "table1", "--render", "--out", folder)["rows"] == []


def test_options_reach_the_experiment(folder, monkeypatch):
    asked = []

    def run(options):
        asked.append(options)
        return {"files": [], "failures": ["toy on moons, seed 0: it diverged"]}

    monkeypatch.setattr("scnf.experiments.table1.run", run)
    result = invoke("reproduce", "table1", "--seeds", 3, "--jobs", 1, "--recipes", "toy, glow-gmm", "--data", "moons")
    assert asked[0] == Options(3, 1, asked[0].out, ["toy", "glow-gmm"], ["moons"], False)
    assert result.exit_code == 1  # a fit that failed must not look like success


@pytest.mark.parametrize("as_json", [True, False])
def test_the_demo_shows_its_results(folder, monkeypatch, as_json):
    method = {"name": "SCNF", "error": 1.5, "nll": 1.25, "seconds": 3.0}
    results = {"report": "demo/report.html", "results": {"moons": {"data": "moons", "labels": 10, "methods": [method]}}}
    monkeypatch.setattr("scnf.experiments.demo.run", lambda out, seed: results)
    result = invoke("demo", *(["--json"] if as_json else []))
    assert result.exit_code == 0
    if as_json:
        assert json.loads(result.stdout) == results
    else:
        assert "1.50" in result.stdout
        assert "demo/report.html" in result.stdout
