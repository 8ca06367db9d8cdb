"""A run that was stopped and resumed ends where an uninterrupted one does, to the last bit."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from scnf.errors import UserError
from scnf.modelfile import TrainedModel
from scnf.tensorfile import FileFormatError, read_tensors
from scnf.training import DivergedError, Fitted, fit, together
from scnf.training import trial as trial_module
from scnf.training.h_alone import HAlone
from tests.helpers import blobs, same_weights, small_recipe

DATA = blobs()
RECIPE = small_recipe(n_init=2, steps=8, noise=0.1, labelled_weight_start=0.5)


class Stop(Exception):  # noqa: N818 (it is no error)
    """What stops a run."""


def stopped(path: Path, restart: int, step: int, recipe=RECIPE, error: type[BaseException] = Stop) -> None:
    """Leave the checkpoint of a run that was stopped after a step."""

    def on_step(at_restart: int, at_step: int, loss: float, done: float) -> None:
        if (at_restart, at_step) == (restart, step):
            raise error

    with pytest.raises(error):
        fit(recipe, DATA, checkpoint=path, on_step=on_step, checkpoint_seconds=0.0)


@pytest.fixture(scope="module")
def whole() -> Fitted:
    """The run that nothing stopped."""
    return fit(RECIPE, DATA)


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    return tmp_path / "checkpoint.safetensors"


@pytest.mark.parametrize(("restart", "step"), [(0, 2), (0, 5), (0, 8), (1, 1), (1, 5), (1, 8)], ids=str)
def test_resumed_run_is_bit_identical(checkpoint, whole, restart, step):
    stopped(checkpoint, restart, step)
    heard = []
    resumed = fit(RECIPE, DATA, checkpoint=checkpoint, resume=True, on_step=lambda *at: heard.append(at[:2]))
    # The checkpoint was written after the step before.
    assert len(heard) == 16 - (restart * 8 + step - 1)
    assert same_weights(resumed.model, whole.model)
    assert resumed.course == whole.course
    assert resumed.history == whole.history


@pytest.mark.parametrize(
    "recipe",
    [
        small_recipe(f={"kind": "ffjord", "hidden": 8, "solver_steps": 2, "trace": "hutchinson"}, steps=6),
        small_recipe(objective="em", clf_weight=0.1, ema=0.5, steps=6),
        small_recipe(h={"kind": "gaussian"}, weight_decay=0.1, steps=6),
        small_recipe(optimizer="adamax", decay="linear", ema=0.0, steps=6),
        small_recipe(optimizer="muon", f={"kind": "coupling", "steps": 2, "hidden": [8]}, steps=6),
        small_recipe(guess=0.9, steps=6),
        small_recipe(h_alone=0.7, noise=0.1, steps=6),
        small_recipe(h_alone=0.5, steps=6),
        small_recipe(h_alone=0.7, optimizer="muon", weight_decay=0.1, steps=6),
        small_recipe(h_alone=0.3, optimizer="muon", weight_decay=0.1, steps=6),
        small_recipe(h_alone=0.5, rounds=2, optimizer="muon", weight_decay=0.1, steps=8),
        small_recipe(h_alone=0.4, rounds=2, optimizer="muon", weight_decay=0.1, steps=6),
        small_recipe(h_alone=0.5, rounds=2, steps=4),
        small_recipe(h={"kind": "ffjord", "hidden": 8, "solver_steps": 2, "trace": "hutchinson"}, h_alone=0.7, steps=6),
        small_recipe(holdout=0.4, steps=6, learning_rate=0.5, ema=0.0),
        small_recipe(holdout=0.4, patience=3, steps=40, learning_rate=0.5, ema=0.0, n_init=2),
    ],
    ids=[
        "hutchinson",
        "em",
        "gaussian",
        "adamax",
        "muon",
        "guess",
        "h-alone",
        "h-alone-begins",
        "h-alone-muon",
        "h-alone-later-muon",
        "second-round-begins",
        "second-round",
        "h-alone-again",
        "h-alone-hutchinson",
        "held-out",
        "plateau",
    ],
)
def test_other_recipes_resume_as_well(checkpoint, monkeypatch, recipe):
    monkeypatch.setattr(HAlone, "is_better", lambda alone: True)  # or what it learned would not be seen
    stopped(checkpoint, 0, 4, recipe)
    resumed, whole = fit(recipe, DATA, checkpoint=checkpoint, resume=True), fit(recipe, DATA)
    assert same_weights(resumed.model, whole.model)
    assert resumed.history == whole.history


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_limited_run_goes_on_with_the_rounds_that_it_had(checkpoint, monkeypatch, rounds):
    monkeypatch.setattr(trial_module, "_STEPS_OF_PACE", 2)
    monkeypatch.setattr(trial_module, "rounds_in", lambda spec, steps: rounds)
    monkeypatch.setattr(HAlone, "is_better", lambda alone: True)
    recipe = small_recipe(h_alone=0.5, rounds=2, steps=8, max_minutes=60)
    stopped(checkpoint, 0, 6, recipe)
    resumed = fit(recipe, DATA, checkpoint=checkpoint, resume=True)
    assert resumed.taken == [[True] * rounds]
    assert resumed.steps == [8]


@pytest.mark.parametrize("f", [None, {"kind": "ffjord", "hidden": 8, "solver_steps": 2, "trace": "hutchinson"}])
@pytest.mark.parametrize("step", [3, 4, 6, 7])
@pytest.mark.parametrize("is_better", [True, False], ids=["taken", "put-back"])
def test_a_second_round_resumes_as_well(checkpoint, monkeypatch, f, step, is_better):
    """By what was said, or by what is yet to be said of rows of which a new session has nothing stored."""
    monkeypatch.setattr(HAlone, "is_better", lambda alone: is_better)
    more = {} if f is None else {"f": f}
    recipe = small_recipe(h_alone=0.5, rounds=2, labelled_weight=0.5, noise=0.1, steps=8, **more)
    stopped(checkpoint, 0, step, recipe)
    resumed, whole = fit(recipe, DATA, checkpoint=checkpoint, resume=True), fit(recipe, DATA)
    assert same_weights(resumed.model, whole.model)
    assert resumed.history == whole.history
    assert resumed.course == whole.course
    assert resumed.course["new_h_taken"] == [[is_better, is_better]]


def test_the_curve_goes_on_in_the_middle_of_a_stretch(checkpoint, monkeypatch):
    monkeypatch.setattr(trial_module, "_RECORDS", 2)  # each point is the mean of four steps
    whole = fit(RECIPE, DATA)
    stopped(checkpoint, 0, 3)
    assert fit(RECIPE, DATA, checkpoint=checkpoint, resume=True).history == whole.history
    assert [(record.restart, record.step) for record in whole.history] == [(0, 4), (0, 8), (1, 4), (1, 8)]


def test_bad_batches_are_counted_on_after_a_stop(checkpoint, monkeypatch):
    recipe, nan = small_recipe(steps=30), torch.tensor(float("nan"), requires_grad=True)
    monkeypatch.setattr(together, "training_objective", lambda log_joint, *more: nan * log_joint.sum())
    stopped(checkpoint, 0, 12, recipe)
    heard = []
    with pytest.raises(DivergedError):
        fit(recipe, DATA, checkpoint=checkpoint, resume=True, on_step=lambda *at: heard.append(at[1]))
    assert heard == list(range(12, 20))  # eleven before the stop, eight now, and the twentieth ends it


def test_a_run_may_be_stopped_again_and_again(checkpoint, whole):
    for step in (3, 5, 7):
        seen = []

        def on_step(restart: int, at: int, loss: float, done: float, seen=seen, step=step) -> None:
            seen.append(at)
            if at == step:
                raise Stop

        with pytest.raises(Stop):
            fit(RECIPE, DATA, checkpoint=checkpoint, resume=True, on_step=on_step, checkpoint_seconds=0.0)
    assert seen == [5, 6, 7]  # the third time it did not start anew
    assert same_weights(fit(RECIPE, DATA, checkpoint=checkpoint, resume=True).model, whole.model)


def test_an_interrupt_keeps_the_step_it_stopped_at(checkpoint, whole):
    stopped(checkpoint, 1, 5, error=KeyboardInterrupt)
    assert read_tensors(checkpoint)[1]["trial"]["step"] == 5
    assert same_weights(fit(RECIPE, DATA, checkpoint=checkpoint, resume=True).model, whole.model)


def test_a_finished_run_is_not_run_again(checkpoint):
    first = fit(RECIPE, DATA, checkpoint=checkpoint)
    seconds = read_tensors(checkpoint)[1]["seconds"]
    heard = []
    again = fit(RECIPE, DATA, checkpoint=checkpoint, resume=True, on_step=lambda *at: heard.append(at))
    assert not heard
    assert same_weights(again.model, first.model)
    assert again.seconds > seconds > 0


def test_without_resume_a_checkpoint_is_overwritten(checkpoint):
    stopped(checkpoint, 0, 4)
    heard = []
    fit(RECIPE, DATA, checkpoint=checkpoint, on_step=lambda *at: heard.append(at))
    assert len(heard) == 16


def test_resume_without_a_checkpoint_starts_anew(checkpoint, whole):
    assert same_weights(fit(RECIPE, DATA, checkpoint=checkpoint, resume=True).model, whole.model)


OTHER_ROWS = replace(DATA, x=DATA.x + 1)


@pytest.mark.parametrize(
    ("recipe", "data", "seed"),
    [
        (small_recipe(n_init=2, steps=9, noise=0.1, labelled_weight_start=0.5), DATA, 0),
        (RECIPE, DATA, 1),
        (RECIPE, OTHER_ROWS, 0),
        (RECIPE, replace(DATA, y=DATA.y.roll(1)), 0),
        (RECIPE, replace(DATA, classes=3), 0),
        (RECIPE, replace(DATA, levels=17), 0),
        (RECIPE, replace(DATA, x=DATA.x.view(torch.int32)), 0),
    ],
    ids=["recipe", "seed", "rows", "labels", "classes", "levels", "dtype"],
)
def test_a_checkpoint_of_another_run_is_refused(checkpoint, recipe, data, seed):
    stopped(checkpoint, 0, 4)
    with pytest.raises(UserError, match="belongs to another recipe, seed, data set or version"):
        fit(recipe, data, seed=seed, checkpoint=checkpoint, resume=True)


def test_a_new_name_and_description_do_not_orphan_a_checkpoint(checkpoint, whole):
    stopped(checkpoint, 1, 5)
    renamed, heard = RECIPE.model_copy(update={"name": "other", "description": "other words"}), []
    resumed = fit(renamed, DATA, checkpoint=checkpoint, resume=True, on_step=lambda *at: heard.append(at[:2]))
    assert heard[0] == (1, 5)
    assert same_weights(resumed.model, whole.model)


def test_the_rows_are_looked_at_once_for_all_checkpoints(checkpoint, monkeypatch):
    made, original = [], hashlib.sha256

    def noted(text):
        made.append(text)
        return original(text)

    monkeypatch.setattr(hashlib, "sha256", noted)
    fit(small_recipe(steps=4), DATA, checkpoint=checkpoint, checkpoint_seconds=0.0)
    assert len([text for text in made if b'{"name":"","description"' in text]) == 1


def test_a_model_is_no_checkpoint(checkpoint, whole):
    TrainedModel(whole.model, RECIPE, ("a", "b")).save(checkpoint)
    with pytest.raises(UserError, match="cannot be resumed"):
        fit(RECIPE, DATA, checkpoint=checkpoint, resume=True)


def test_a_damaged_checkpoint_is_refused(checkpoint):
    stopped(checkpoint, 0, 4)
    checkpoint.write_bytes(checkpoint.read_bytes()[:200])
    with pytest.raises(FileFormatError, match="damaged"):
        fit(RECIPE, DATA, checkpoint=checkpoint, resume=True)
