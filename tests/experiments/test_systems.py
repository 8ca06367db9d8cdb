"""The comparison of systems: records, the page that is made of them, and what is done anew."""

import json
from dataclasses import replace

import pytest

from scnf.errors import UserError
from scnf.experiments import Options
from scnf.experiments.systems import BY_DEFAULT, LABELS, SystemTask, plan, record_is_of, run, run_system
from scnf.experiments.systems_cost import COMPARED, COUNTS, cost_of
from scnf.experiments.systems_render import page, render, summarize
from scnf.experiments.systems_verdict import verdicts

MINUTES = 0.002


@pytest.fixture
def costs(monkeypatch):
    """Costs that grow with the classes as they please, measured in no process."""

    def in_a_process(system: str, classes: int):
        grows = classes if system == "flow-per-class" else 1
        return {
            "system": system, "classes": classes, "parameters": 10 * grows, "step_ms": 2.0 * grows,
            "memory_mib": 3.0 * grows,
        }  # fmt: skip

    monkeypatch.setattr("scnf.experiments.systems_cost._in_a_process", in_a_process)
    return [in_a_process(system, classes) for classes in COUNTS for system in COMPARED]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """A folder with records of a system with a bound, one without a density and one that is a flow."""
    out = tmp_path_factory.mktemp("results")
    for system, data in (("m2", "moons"), ("m2", "digits"), ("svc", "moons"), ("autoregressive", "moons")):
        run_system(SystemTask(system, data, 0, MINUTES, out / "systems"), lambda share: None)
    return out


def read(out, system: str, data: str):
    return json.loads((out / "systems" / system / f"{data}-0.json").read_text(encoding="utf-8"))


def test_a_record_tells_error_density_size_and_speed(records):
    of_flow, of_vae, of_svc = (read(records, system, "moons") for system in ("autoregressive", "m2", "svc"))
    assert of_flow["data"] == {"name": "moons", "labels": 10, "seed": 0}
    assert set(of_flow["metrics"]) == set(of_vae["metrics"]) == {"error", "nll"}
    assert set(read(records, "m2", "digits")["metrics"]) == {"error", "nll", "bits_per_dim"}
    assert set(of_svc["metrics"]) == {"error"}
    assert of_flow["parameters"] > 100
    assert of_svc["parameters"] is None
    assert all(record["rows_per_second"] > 0 for record in (of_flow, of_vae, of_svc))
    assert of_flow["samples_per_second"] > 0
    assert of_vae["samples_per_second"] is None
    assert of_flow["recipe"]["model"]["h"]["kind"] == "autoregressive"


def test_a_fit_is_done_when_its_settings_have_a_record(records):
    task = SystemTask("autoregressive", "moons", 0, MINUTES, records / "systems")
    assert task.is_done()
    assert not replace(task, minutes=1.0).is_done()
    assert not replace(task, seed=1).is_done()
    older = read(records, "autoregressive", "moons")
    del older["recipe"]["training"]["guess"]  # a key that is newer than the record
    assert record_is_of(older, task.recipe())


def test_the_page_is_made_of_the_records(records, costs):
    summary = render(records / "systems", MINUTES, costs)
    text = (records / "systems" / "table.md").read_text(encoding="utf-8")
    assert [(row["data"], row["system"]) for row in summary["rows"]] == [
        ("moons", "m2"), ("moons", "autoregressive"), ("moons", "svc"), ("digits", "m2")
    ]  # fmt: skip
    nll, error = (read(records, "m2", "moons")["metrics"][key] for key in ("nll", "error"))
    assert f"| moons, 10 labels | M2 | {error:.2f} | ≤ {nll:.2f} | – |" in text
    assert f"| SVC, labelled rows alone | {read(records, 'svc', 'moons')['metrics']['error']:.2f} | – | – | – |" in text
    assert "| one flow per class | 100 | 1,000 | 200.0 | 300 |" in text
    assert {path.name for path in (records / "systems").iterdir() if path.is_file()} == {
        "table.md", "table.json", "cost.png"
    }  # fmt: skip
    # In another time other fits count, but for scikit-learn's, which have no limit.
    assert [row["system"] for row in summarize(records / "systems", 1.0)["rows"]] == ["svc"]
    assert "cost.png" not in page(summary, [])


def test_the_page_judges_every_claim_and_says_what_the_time_covers(records, costs):
    summary = render(records / "systems", MINUTES, costs)
    text = (records / "systems" / "table.md").read_text(encoding="utf-8")
    told = verdicts(summary, costs)
    assert len(told) == 3
    assert all(f"\n- {sentence}\n" in text for sentence in told)
    assert summary["verdicts"] == [" ".join(told)]
    assert "0.002 minutes of training by the clock" in text
    assert "at most" not in text  # a last look comes after the time
    assert "At K = 1 a step of one flow per class already takes 1.00 times as long" in text
    assert "At K = 1 a step" not in page(summary, [row for row in costs if row["classes"] > 1])


def test_a_study_runs_what_has_no_record_and_keeps_the_time_of_its_records(tmp_path, costs):
    options = Options(splits=2, jobs=1, out=tmp_path, recipes=["svc"], data=["moons"], minutes=MINUTES)
    summary = run(options)
    assert summary["failures"] == []
    assert summary["rows"][0]["splits"] == 2
    assert json.loads((tmp_path / "systems" / "cost.json").read_text(encoding="utf-8"))["rows"] == costs
    assert run(replace(options, minutes=None, render_only=True))["rows"] == summary["rows"]


def test_all_systems_and_data_sets_but_mnist_are_planned_seed_by_seed(tmp_path):
    tasks = plan(Options(out=tmp_path, splits=2))
    assert {task.data for task in tasks} == set(BY_DEFAULT) == set(LABELS) - {"mnist"}
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert {task.data for task in plan(Options(out=tmp_path, data=["mnist"]))} == {"mnist"}
    with pytest.raises(UserError, match="unknown system 'nonsense'"):
        plan(Options(out=tmp_path, recipes=["nonsense"]))
    with pytest.raises(UserError, match="must be above 0, got -1"):
        plan(Options(out=tmp_path, minutes=-1.0))


def test_more_classes_cost_one_flow_per_class_more():
    few, many = (cost_of("flow-per-class", classes) for classes in (1, 3))
    assert many["parameters"] == 3 * few["parameters"]
    assert few["step_ms"] > 0
    assert cost_of("scnf", 3)["parameters"] < many["parameters"]
