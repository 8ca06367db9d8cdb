from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone

from scnf.errors import UserError
from scnf.evaluation.probes import HELD_OUT_PROBES
from scnf.evaluation.tables import block_is_current
from scnf.experiments import Options, fairness
from scnf.experiments.fairness_render import AIM, block, full_page, summarize, verdict
from scnf.fairness import AttributeHider, measure
from scnf.fairness.cells import OrderedCells
from scnf.tables import Table
from tests.census_files import write_census
from tests.cli.conftest import refusal

ROOT = Path(__file__).parents[1]
QUICK = {"training.steps": 150, "training.batch_size": 256, "model.h.hidden": [16]}
LINEAR = {name: HELD_OUT_PROBES[name] for name in ("logistic regression",)}


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    """Height tells sex; pay tells of years alone."""
    rng = np.random.default_rng(seed)
    male = rng.random(rows) < 0.6
    years = rng.integers(5, 17, rows)
    return pd.DataFrame(
        {
            "sex": np.where(male, "m", "f"),
            "height": rng.normal(165 + 14 * male, 7),
            "years": years,
            "town": rng.choice(["Ulm", "Bonn", "Köln"], rows),
            "pay": np.where(years + rng.normal(0, 1, rows) > 11, "high", "low"),
        }
    )


@pytest.fixture(scope="module")
def hider() -> AttributeHider:
    return AttributeHider("sex", task="pay", settings=QUICK, random_state=0).fit(people(1500))


# Cells


def test_a_column_becomes_standard_normal_in_the_order_of_its_values():
    x = np.repeat(np.arange(10.0), 200)
    cells = OrderedCells(Table({"x": x}))
    z = cells.encode(Table({"x": x}), np.random.default_rng(0))[:, 0]
    edges = norm.ppf(np.arange(0, 11) / 10)
    assert ((z >= edges[x.astype(int)] - 1e-3) & (z <= edges[x.astype(int) + 1] + 1e-3)).mean() > 0.99
    assert abs(z.mean()) < 0.02
    assert abs(z.std() - 1) < 0.03


def test_a_value_of_many_rows_has_a_cell_of_its_own():
    x = np.concatenate([np.zeros(900, dtype=np.int64), np.arange(1, 101)])
    z = OrderedCells(Table({"x": x})).encode(Table({"x": x}), np.random.default_rng(0))[:, 0]
    assert z[:900].max() < z[900:].min()
    assert z[:900].max() == pytest.approx(norm.ppf(0.9), abs=0.02)


@pytest.mark.parametrize(("by", "order"), [(None, "abc"), ([0, 0, 0, 1, 1, 0.5], "acb")])
def test_categories_stand_by_their_frequency_or_by_the_task(by, order: str):
    names = np.array(list("aaabbc"), dtype=object)
    z = OrderedCells(Table({"x": names}), None if by is None else np.array(by)).encode(
        Table({"x": np.array(list(order), dtype=object)}), np.random.default_rng(0)
    )[:, 0]
    assert z.tolist() == sorted(z)


def test_noise_is_fresh_and_gaps_and_new_values_have_a_place():
    table = Table({"x": np.array([1.0, 2.0, np.nan, 3.0]), "y": np.array(["a", None, "b", "a"], dtype=object)})
    cells, rng = OrderedCells(table), np.random.default_rng(0)
    first, second = cells.encode(table, rng), cells.encode(table, rng)
    assert (first != second).all()
    assert np.isfinite(first).all()
    new = cells.encode(Table({"x": np.array([99.0]), "y": np.array(["never"], dtype=object)}), rng)
    assert np.isfinite(new).all()
    assert new[0, 0] > first[:, 0].max() - 3


@pytest.mark.parametrize(
    "column", [["a", "b", None, "a"], [True, False, None, True], [True, False, False, True]], ids=str
)
def test_gaps_do_not_make_another_kind_of_a_column(column):
    table = Table.of({"x": column})
    cells = OrderedCells(table)
    whole = cells.encode(table, np.random.default_rng(0))
    for row in range(4):
        # As in the whole table, with the same noise.
        alone = cells.encode(Table.of({"x": [column[row]]}), np.random.default_rng(0))
        first = cells.encode(table[np.array([row, 0, 1])], np.random.default_rng(0))
        assert alone[0, 0] == first[0, 0]
    with_gap = cells.encode(Table.of({"x": [column[0], None]}), np.random.default_rng(0))
    assert with_gap[0, 0] == whole[0, 0]
    assert np.isfinite(with_gap).all()


# The hider


def test_what_is_let_go_hides_sex_and_keeps_the_task(hider: AttributeHider):
    train, test = people(1500), people(1500, seed=1)
    seen = measure(hider.encode(train), hider.encode(test), *_truth(train, test), probes=LINEAR)
    let_go = measure(hider.transform(train), hider.transform(test), *_truth(train, test), probes=LINEAR)
    assert seen.strongest > 0.8
    assert let_go.strongest < let_go.protected_majority + 0.05
    assert let_go.strongest_auc < 0.6
    assert let_go.task_accuracy > 0.85
    assert let_go.demographic_parity_difference < 0.1


def _truth(train: pd.DataFrame, test: pd.DataFrame):
    return [tuple(frame[name].to_numpy().astype(str) for frame in (train, test)) for name in ("sex", "pay")]


def test_neither_the_protected_column_nor_the_task_is_let_go(hider: AttributeHider):
    assert hider.get_feature_names_out().tolist() == ["z_h height", "z_h years", "z_h town"]
    frame = people(50)
    assert np.array_equal(hider.transform(frame), hider.transform(frame.assign(pay="low"))), "the seed fixes the noise"


def test_unknown_values_are_predicted_ones(hider: AttributeHider):
    frame = people(60, seed=2)
    told = hider.predict(frame)
    gaps = frame.assign(sex=frame["sex"].where(np.arange(60) % 2 == 0, None))
    mixed = frame.assign(sex=np.where(np.arange(60) % 2 == 0, frame["sex"], told))
    assert np.array_equal(hider.transform(gaps), hider.transform(mixed))
    assert np.array_equal(hider.transform(frame.drop(columns="sex")), hider.transform(frame.assign(sex=told)))
    assert not np.array_equal(hider.transform(frame), hider.transform(frame.assign(sex="f")))


def test_it_learns_from_rows_whose_value_is_not_known():
    frame = people(300)
    frame.loc[40:, "sex"] = None
    quick = AttributeHider("sex", settings={**QUICK, "training.steps": 3}, random_state=0)
    assert clone(quick).fit_transform(frame).shape == (300, 4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sex": "x"}, "column 'sex' holds 'x', which training did not have; known are f, m"),
        ({"height": "tall"}, "column 'height' held numbers in training, but here it holds names"),
        ({"town": 3}, "column 'town' held names in training, but here it holds numbers"),
        ({"town": True}, "column 'town' held names in training, but here it holds numbers"),
    ],
)
def test_other_rows_than_those_of_training_are_refused(hider: AttributeHider, change, sentence: str):
    with pytest.raises(UserError, match=sentence):
        hider.transform(people(20).assign(**change))


@pytest.mark.parametrize(
    ("hider", "frame", "sentence"),
    [
        (AttributeHider("gender"), people(20), "there is no column 'gender'"),
        (AttributeHider("sex", task="fame"), people(20), "there is no column 'fame'"),
        (AttributeHider("sex"), people(20).assign(sex=None), "column 'sex' holds no value"),
    ],
)
def test_a_table_without_what_is_to_be_hidden_is_refused(hider: AttributeHider, frame, sentence: str):
    with pytest.raises(UserError, match=sentence):
        hider.fit(frame)


# Measures


def test_fairlearns_differences_of_a_classifier_that_is_always_right():
    sex = np.array(["f"] * 100 + ["m"] * 100)
    pay = np.array([0] * 80 + [1] * 20 + [0] * 40 + [1] * 60)
    z = pay[:, None] + 0.01 * np.random.default_rng(0).standard_normal((200, 1))
    found = measure(z, z, (sex, sex), (pay, pay), probes=LINEAR)
    assert found.task_accuracy == 1
    assert found.demographic_parity_difference == pytest.approx(0.4)
    assert found.equalized_odds_difference == 0
    assert found.strongest == pytest.approx(0.7), "high pay is a man's in 60 of 80 rows, low pay a woman's in 80 of 120"


def test_a_task_has_two_values():
    y = np.arange(30) % 3
    with pytest.raises(UserError, match="a task has two different values for its fairness to be measured, got 3"):
        measure(y[:, None], y[:, None], (y, y), (y, y))


# The experiment


@pytest.fixture
def quick_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_table: str) -> Options:
    monkeypatch.setattr(fairness, "RECIPE", tiny_table)
    monkeypatch.setattr(fairness, "measure", partial(measure, probes=LINEAR))
    data = write_census(tmp_path / "adult", train_rows=300, test_rows=120)
    return Options(out=tmp_path / "results", data_dir=data)


@pytest.fixture
def tiny_table(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(
        'name = "tiny"\n[model.f]\nkind = "none"\n[model.h]\nkind = "autoregressive"\nsteps = 1\nhidden = [4]\n'
        "[training]\nsteps = 2\nbatch_size = 32\n"
    )
    return str(path)


def test_the_experiment_is_recorded_once_and_rendered(quick_experiment: Options, monkeypatch: pytest.MonkeyPatch):
    options = replace(quick_experiment, labels="20")
    summary = fairness.run(options)
    assert list(summary["hidden"]) == ["20"]
    assert summary["raw"] == []
    assert "of which there is no record" in summary["verdicts"][0]
    summary = fairness.run(replace(options, labels="all"))
    assert list(summary["hidden"]) == ["all", "20"]
    page = (options.out / "fairness" / "table.md").read_text()
    assert block(summary) in page
    assert f"{summary['hidden']['all'][0]['task_accuracy']:.3f}" in page

    monkeypatch.setattr(fairness, "run_task", lambda *args: pytest.fail("there are records"))
    fairness.run(options)


def test_the_pages_say_what_the_records_say():
    folder = ROOT / "results" / "fairness"
    summary = summarize(folder)
    assert (folder / "table.md").read_text("utf-8") == full_page(summary)
    assert block_is_current(ROOT / "docs" / "fairness.md", "fairness", block(summary))


def test_the_experiment_refuses_what_is_no_number_of_labels():
    assert "--labels is a number from 2 up or all, got 'some'" in refusal("reproduce", "fairness", "--labels", "some")


@pytest.mark.parametrize(("sex", "income", "word"), [(0.7, 0.82, "reached"), (0.71, 0.85, "not reached")])
def test_the_aim(sex: float, income: float, word: str):
    assert AIM == (0.70, 0.82)
    summary = {"hidden": {"all": [{"strongest": sex, "task_accuracy": income}]}}
    assert verdict(summary).startswith(f"**The aim is {word}**")
