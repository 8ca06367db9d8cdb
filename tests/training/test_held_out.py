"""Rows that are kept aside end a run at its plateau and choose the weights that are kept."""

import math

import pytest
import torch
from lightning_fabric import Fabric
from pydantic import ValidationError

from scnf.recipes import TrainingSpec
from scnf.training import fit
from scnf.training import trial as trial_module
from scnf.training.ema import WeightAverage
from scnf.training.held_out import HeldOut
from scnf.training.schedule import Pace
from scnf.training.trial import Trial
from tests.helpers import blobs, same_weights, small_recipe

DATA = blobs()


def held_out_nll(model, share: float) -> float:
    with torch.no_grad():
        return -float(model.log_prob(DATA.hold_out(share)[1].x).double().mean())


def test_rows_without_a_label_alone_are_kept_aside():
    kept, aside = DATA.hold_out(0.3)
    assert (len(kept.y), len(aside.y)) == (45, 15)
    assert bool((aside.y == -1).all())
    rows = torch.cat([kept.x, aside.x])
    assert torch.equal(rows.sort(0).values, DATA.x.sort(0).values)
    assert torch.equal(DATA.hold_out(0.3)[1].x, aside.x)


def test_a_plateau_brings_the_decay_and_the_end():
    pace = Pace(steps=1000)
    pace.turn(200, decay_start=0.6)
    # A quarter of the steps before it are left.
    assert [pace.progress(step) for step in (200, 225, 250, 260)] == pytest.approx([0.6, 0.8, 1.0, 1.0])
    pace.turn(240, decay_start=0.6)
    assert pace.progress(250) == 1.0


def test_a_plateau_never_turns_a_run_back():
    pace = Pace(steps=100)
    pace.turn(80, decay_start=0.5)
    assert pace.progress(80) == 0.8


@pytest.mark.parametrize(
    ("seen", "enough_at"),
    [
        ([3.0, 2.0, 1.0, 0.5, 0.4], None),
        ([3.0, 2.0, 2.5, 2.5, 2.5], 40),
        ([math.nan, math.inf, 1.0, 1.0, 1.0], 50),
    ],
)
def test_patience_counts_from_the_best(seen, enough_at):
    held_out = HeldOut(torch.zeros(3, 2), TrainingSpec(holdout=0.1, patience=20))
    average = WeightAverage(torch.nn.Linear(1, 1), 0.9)
    enough = [held_out.take(10 * (i + 1), nll, average) for i, nll in enumerate(seen)]
    assert enough.index(True) * 10 + 10 == enough_at if any(enough) else enough_at is None


def test_nothing_is_judged_while_the_labels_lead():
    held_out = HeldOut(torch.zeros(3, 2), TrainingSpec(holdout=0.1, labelled_weight_start=0.5, labelled_decay=0.4))
    assert not held_out.is_due(10, 0.39)
    assert held_out.is_due(10, 0.4)


def test_the_weights_that_tell_them_best_are_kept():
    # Far too high a rate at the end of too long a run: the last weights are not the best ones.
    recipe = small_recipe(holdout=0.4, steps=300, learning_rate=0.05, ema=0.0, decay_start=0.99)
    fitted = fit(recipe, DATA)
    seen = [record.held_out for record in fitted.history if record.held_out is not None]
    assert held_out_nll(fitted.model, 0.4) == pytest.approx(min(seen), abs=0.02)
    assert held_out_nll(fitted.model, 0.4) < seen[-1]


def test_a_run_ends_at_its_plateau():
    recipe = small_recipe(holdout=0.4, patience=20, steps=100_000, learning_rate=0.02)
    fitted = fit(recipe, DATA)
    assert fitted.steps[0] < 5000
    assert fitted.history[-1].learning_rate < 0.2 * 0.02


def test_without_rows_to_keep_aside_the_schedule_is_whole():
    data = blobs(rows=10, labelled=10)
    fitted = fit(small_recipe(holdout=0.4, patience=1, steps=30), data)
    assert fitted.steps == [30]
    assert same_weights(fitted.model, fit(small_recipe(steps=30), data).model)


def test_where_most_rows_have_a_label_some_of_them_are_kept_aside():
    kept, aside = blobs(rows=60, labelled=40).hold_out(0.5)
    assert (len(kept.y), len(aside.y)) == (35, 25)
    assert 0 < int((aside.y >= 0).sum()) < 25
    assert min(torch.bincount(kept.y[kept.y >= 0])) >= 5


@pytest.mark.parametrize("labelled", [10, 60])
def test_rows_kept_aside_are_no_more_than_are_needed(labelled, monkeypatch):
    monkeypatch.setattr(trial_module, "_HELD_OUT_ROWS", 8)
    data = blobs(labelled=labelled)
    held_out = Trial(small_recipe(holdout=0.4), data, 0, 0, Fabric(accelerator="cpu", devices=1)).held_out
    aside = data.hold_out(0.4)[1].x
    assert torch.equal(held_out.x, aside[torch.arange(8) * len(aside) // 8])


def test_patience_needs_rows_to_watch():
    with pytest.raises(ValidationError, match="holdout must be above 0"):
        TrainingSpec(patience=5)
