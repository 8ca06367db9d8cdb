import math

import numpy as np
import pytest
import torch

from scnf.evaluation import calibration
from scnf.evaluation.calibration import temperature_for
from scnf.evaluation.metrics import expected_calibration_error, log_joint_of
from scnf.evaluation.reliability import reliability
from scnf.recipes.build import build_model
from scnf.training import DivergedError, fit
from tests.helpers import blobs, same_weights, small_recipe


@pytest.mark.parametrize("temperature", [1.0, 7.0])
def test_the_temperature_of_known_posteriors_is_found(temperature):
    generator = torch.Generator().manual_seed(0)
    log_joint = 2 * torch.randn(20_000, 4, generator=generator, dtype=torch.float64)
    accuracy = float(log_joint.softmax(1).amax(1).mean())
    assert temperature_for(log_joint * temperature, accuracy) == pytest.approx(temperature, rel=1e-6)


def test_probabilities_are_never_sharpened():
    assert temperature_for(torch.randn(100, 3), 0.999) == 1


def test_what_tells_nothing_changes_nothing():
    assert temperature_for(torch.zeros(5, 1), 0.5) == 1
    assert temperature_for(torch.full((2, 2), torch.nan), 0.5) == 1


@pytest.mark.parametrize(("start", "folds"), [("labels", 4), ("em", 10)])
def test_accuracy_comes_from_hidden_labels_alone(start, folds, monkeypatch):
    seen = []
    original = calibration.fit

    def noted(recipe, data, seed, **options):
        seen.append((data.y >= 0).nonzero()[:, 0].tolist())
        return original(recipe, data, seed, **options)

    monkeypatch.setattr(calibration, "fit", noted)
    recipe = small_recipe(h={"kind": "gaussian"}, n_init=3, start=start, steps=60)
    assert calibration.cross_fitted_answers(recipe, blobs(), seed=0) == (10, 10)  # clusters that nobody could mistake
    hidden = [set(range(10)) - set(rows) for rows in seen]
    assert len(hidden) == folds
    assert set.union(*hidden) == set(range(10))
    assert sum(map(len, hidden)) == 10


@pytest.mark.parametrize("kind", ["coupling", "fixed-gaussians", "autoregressive"])
def test_where_em_finds_no_start_models_are_trained(kind, monkeypatch):
    trained = []

    def noted(recipe, *given, **options):
        trained.append(recipe.training)
        raise DivergedError("not now")

    monkeypatch.setattr(calibration, "fit", noted)
    recipe = small_recipe(h={"kind": kind}, start="em", steps=60)
    calibration.cross_fitted_answers(recipe, blobs(), seed=0)
    assert [(spec.steps, spec.learning_rate) for spec in trained] == [(20, recipe.training.learning_rate)] * 4


def test_the_start_alone_is_not_moved_by_muon(monkeypatch):
    models, original = [], calibration.fit

    def noted(*given, **options):
        models.append(original(*given, **options))
        return models[-1]

    monkeypatch.setattr(calibration, "fit", noted)
    for optimizer in ("muon", "adam"):
        recipe = small_recipe(h={"kind": "gaussian"}, start="em", optimizer=optimizer, warmup_steps=0)
        calibration.cross_fitted_answers(recipe, blobs(labelled=4), seed=0)
    assert same_weights(models[0].model, models[len(models) // 2].model)


def test_what_on_step_raises_stops_the_short_fits():
    heard = []

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        heard.append(step)
        if len(heard) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibration.cross_fitted_answers(small_recipe(h={"kind": "gaussian"}), blobs(), 0, on_step)
    assert heard == [1, 2, 3, 4, 1, 2]  # four fits of four steps each were ahead


def test_a_limit_of_time_also_limits_the_short_fits(monkeypatch):
    limits = []

    def noted(recipe, data, seed, **options):
        limits.append(recipe.training.max_minutes)
        raise DivergedError("not now")

    monkeypatch.setattr(calibration, "fit", noted)
    recipe = small_recipe(h={"kind": "gaussian"}, max_minutes=4.0)
    assert calibration.cross_fitted_answers(recipe, blobs(), seed=0) == (0, 0)
    assert sum(limits) == pytest.approx(1.0)


def test_one_label_of_a_class_cannot_be_hidden():
    recipe = small_recipe(h={"kind": "gaussian"})
    assert calibration.cross_fitted_answers(recipe, blobs(labelled=2), seed=0) == (0, 0)
    model = build_model(recipe.model, (2,), 2)
    assert calibration.calibrated_temperature(model, blobs(labelled=2), 0, 0) == 1


def test_what_teaches_a_start_is_part_of_the_short_fits(monkeypatch):
    trained = []

    def noted(recipe, *given, **options):
        trained.append(recipe.training)
        raise DivergedError("not now")

    monkeypatch.setattr(calibration, "fit", noted)
    taught = {"augment": {"noise": 0.1}}
    recipe = small_recipe(h={"kind": "gaussian"}, start="em", consistency=taught, steps=60, holdout=0.1, patience=30)
    calibration.cross_fitted_answers(recipe, blobs(), seed=0)
    assert [(spec.steps, spec.patience) for spec in trained] == [(20, 10)] * 4


@pytest.mark.parametrize(("right", "told"), [(50, 100), (0, 10), (9, 10), (10, 10), (0, 0)])
def test_hidden_labels_soften_no_more_than_is_certain(right, told):
    recipe, data = small_recipe(h={"kind": "gaussian"}, steps=50), blobs()
    model = fit(recipe, data).model
    temperature = calibration.calibrated_temperature(model, data, right, told)
    log_joint = log_joint_of(model, data.x[data.y < 0])
    own, now = (float((log_joint / t).softmax(1).amax(1).mean()) for t in (1.0, temperature))
    highest = 1.0 if right == told else calibration.most_often_right(right, told)
    assert now == pytest.approx(min(max(highest, 0.5), own), abs=1e-3)


@pytest.mark.parametrize(("right", "told"), [(0, 1), (9, 10), (95, 100)])
def test_at_the_upper_limit_so_few_right_answers_have_a_chance_of_a_tenth(right, told):
    share = calibration.most_often_right(right, told)
    chance = sum(math.comb(told, k) * share**k * (1 - share) ** (told - k) for k in range(right + 1))
    assert chance == pytest.approx(0.1)


def test_reliability_has_the_calibration_error_of_the_metrics():
    generator = torch.Generator().manual_seed(1)
    log_joint = torch.randn(500, 3, generator=generator)
    y = torch.randint(0, 3, (500,), generator=generator)
    found = reliability(log_joint.softmax(1).numpy(), y.numpy())
    assert found.rows.sum() == 500
    assert found.ece == pytest.approx(expected_calibration_error(log_joint, y), abs=1e-6)
    np.testing.assert_array_less(np.diff(found.confidence) * -1, 0)
