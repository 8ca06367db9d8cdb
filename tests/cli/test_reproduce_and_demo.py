"""``scnf reproduce`` and ``scnf demo``; what they run is tested in tests/experiments."""

import json
from pathlib import Path

import pytest

from scnf.experiments import EXPERIMENTS, Options
from scnf.experiments.table3 import STUDY as TABLE3
from tests.cli.conftest import invoke, invoke_json, refusal


def test_an_unknown_experiment_is_refused(folder):
    known = ", ".join(EXPERIMENTS)
    assert refusal("reproduce", "table9") == f"Error: unknown experiment 'table9'; known are {known}, or all"
    assert "unknown experiment 'table9'" in refusal("reproduce", "table9", "--dry-run")
    assert list(folder.iterdir()) == []


def test_an_unknown_row_is_refused(folder):
    assert "unknown recipe 'nonsense'; known are glow-glow" in refusal("reproduce", "table1", "--recipes", "nonsense")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rendering_without_records_is_refused(folder, name):
    assert f"results/{name} holds no record" in refusal("reproduce", name, "--render")
    assert list(folder.iterdir()) == []


def test_table_and_files_are_printed(folder, monkeypatch):
    summary = {
        "files": ["table.md"],
        "failures": [],
        "table": {"columns": ["f – h", "splits"], "rows": [["toy", "20"]]},
    }
    monkeypatch.setattr("scnf.experiments.table1.run", lambda options: summary)
    result = invoke("reproduce", "table1")
    assert result.exit_code == 0
    assert all(text in result.stdout for text in ("splits", "toy", "wrote table.md"))
    assert invoke_json("reproduce", "table1") == summary


def test_minutes_that_cannot_be_are_refused(folder):
    assert "table1 has no time limit to set (--minutes)" in refusal("reproduce", "table1", "--minutes", 5)
    assert "bad value -1.0 for key 'training.max_minutes'" in refusal("reproduce", "table2", "--minutes", -1)
    assert list(folder.iterdir()) == []


def test_a_dry_run_tells_what_is_missing_and_writes_nothing(folder):
    items = invoke_json("reproduce", "all", "--dry-run")["items"]
    assert list(items) == list(EXPERIMENTS)
    assert {item["status"] for item in items.values()} == {"missing"}
    assert items["table3"]["wanted"] == items["table3"]["missing"] == 15
    assert items["table3"]["cpu_hours"] == round(15 * TABLE3.minutes / 60, 2)
    assert list(invoke_json("reproduce", "table3", "--dry-run", "--splits", 1)["items"]) == ["table3"]
    shown = invoke("reproduce", "all", "--dry-run").stdout
    assert all(word in shown for word in (*EXPERIMENTS, "status", "wanted", "stale"))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("option", ["--minutes=5", "--data=mnist", "--recipes=a", "--model=m", "--labels=200"])
def test_all_are_run_as_they_are_planned(folder, option):
    name = option.split("=")[0]
    assert f"{name} is for one experiment at a time" in refusal("reproduce", "all", option)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["table2", "--model", "mnist-100"], "--model is for appendix-a, obfuscation, ood; table2 has no use for it"),
        (["mnist", "--dry-run", "--labels", "7"], "--labels is for fairness; mnist has no use for it"),
        (["ood", "--dry-run", "--model", "mnist-100"], "--dry-run tells of what is planned"),
        (["nothing", "--model", "mnist-100"], "nothing"),
    ],
)
def test_options_that_would_be_passed_over_are_refused(folder, arguments, expected):
    assert expected in refusal("reproduce", *arguments)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("splits", ["--splits", "--seeds"])
def test_options_reach_the_experiment(folder, monkeypatch, splits):
    asked = []

    def run(options):
        asked.append(options)
        return {"files": [], "failures": ["toy on moons, seed 0: it diverged"], "table": {"columns": [], "rows": []}}

    monkeypatch.setattr("scnf.experiments.table1.run", run)
    more = ["--recipes", "toy, glow-gmm", "--data", "moons", "--minutes", 2.5, "--data-dir", "there"]
    result = invoke("reproduce", "table1", splits, 3, "--jobs", 1, *more)
    assert asked[0] == Options(3, 1, Path("results"), ["toy", "glow-gmm"], ["moons"], False, 2.5, Path("there"))
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
