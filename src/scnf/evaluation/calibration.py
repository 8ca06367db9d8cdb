"""Probabilities that mean what they say: a temperature from labels that the model did not see."""

import math
from typing import Any

import torch
from torch import Tensor

from scnf.evaluation.metrics import log_joint_of
from scnf.model import SemiConditionalFlow
from scnf.recipes.schema import Recipe
from scnf.training import DivergedError, OnStep, TrainingData, fit

_FOLDS_OF_STARTS, _FOLDS_OF_RUNS = 10, 4
# Of the steps and the patience of a fit, for each of those runs; and of its time, for all of them.
_SHARE_OF_STEPS, _SHARE_OF_TIME = 1 / 3, 0.25
_ROWS = 4096
# How certain it must be that a model is right less often than it says: a few labels are often told wrongly by chance.
_CERTAINTY = 0.9
# A high-dimensional density is sure of too much, never of too little: probabilities are softened, not sharpened.
_LOWEST, _HIGHEST, _HALVINGS = 1.0, 10_000.0, 40


def temperature_for(log_joint: Tensor, accuracy: float) -> float:
    """Return the T for which softmax(log_joint / T) is as sure of itself, in the mean over rows, as it is often right.

    Unlike the T of the best cross-entropy it does not hang on the few rows that are far off, of which a
    high-dimensional density is surest. Reference for the temperature: Guo et al., On Calibration of Modern Neural
    Networks (2017).
    """
    log_joint = log_joint.double()
    log_joint = log_joint[log_joint.isfinite().all(1)]
    if log_joint.shape[1] < 2 or not len(log_joint):
        return 1.0

    def sure(temperature: float) -> float:
        return float((log_joint / temperature).softmax(1).amax(1).mean())

    if sure(_LOWEST) <= accuracy:
        return _LOWEST
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sure(math.exp(middle)) > accuracy else (low, middle)
    return math.exp((low + high) / 2)


def calibrated_temperature(model: SemiConditionalFlow, data: TrainingData, right: int, told: int) -> float:
    """Return the temperature at which a model is as sure of rows without a label as it may be by hidden labels.

    ``right`` of ``told`` is what ``cross_fitted_answers`` returned. They are few, and those fits knew fewer labels, so
    a model is made no less sure than it must be: to the upper limit of how often it is right.
    """
    if right == told:
        return 1.0
    rows = data.excerpt(_ROWS)
    log_joint = log_joint_of(model, rows.x[rows.y < 0] if bool((rows.y < 0).any()) else rows.x, data.levels)
    return temperature_for(log_joint, most_often_right(right, told))


def most_often_right(right: int, told: int) -> float:
    """Return the share of right answers that is not exceeded with a certainty of 90 %, where some answers were wrong.

    Reference: Clopper and Pearson, The Use of Confidence or Fiducial Limits (1934).

    Example:
        >>> round(most_often_right(0, 1), 3)  # one coin toss says little
        0.9
    """
    from scipy.stats import beta  # noqa: PLC0415 (takes half a second, and only fits need it)

    return float(beta.ppf(_CERTAINTY, right + 1, told - right))


def cross_fitted_answers(
    recipe: Recipe, data: TrainingData, seed: int, on_step: OnStep = lambda *_: None
) -> tuple[int, int]:
    """Return how many labels that were hidden from them models told rightly, and how many they told.

    The labelled rows are dealt into folds, and for each a model is fitted without its labels: the rows stay, as rows
    without a label do in use. That model is the start alone where EM finds it and nothing teaches it afterwards,
    otherwise one start in a third of the steps. Where the recipe limits the time, all of them together have a quarter
    of it. ``on_step`` is called after each step of each, and what it raises stops them.
    """
    spec = recipe.training
    # Gaussians alone begin where EM ends.
    starts_well = spec.start != "labels" and recipe.model.h.kind == "gaussian" and spec.consistency is None
    folds = _FOLDS_OF_STARTS if starts_well else _FOLDS_OF_RUNS
    limit = None if spec.max_minutes is None else spec.max_minutes * _SHARE_OF_TIME / folds
    short: dict[str, Any] = {"n_init": 1, "max_minutes": limit}
    if starts_well:
        # Muon's rate is its own: it would move the start all the same.
        short |= {"steps": 1, "learning_rate": 1e-12, "optimizer": "adam", "holdout": 0.0, "patience": None}
    else:
        short["steps"] = max(int(spec.steps * _SHARE_OF_STEPS), 1)
        short["patience"] = None if spec.patience is None else max(int(spec.patience * _SHARE_OF_STEPS), 1)
    recipe = recipe.model_copy(update={"training": spec.model_copy(update=short)})
    labelled = (data.y >= 0).nonzero()[:, 0]
    fold_of = _deal(data.y[labelled], folds)
    right = told = 0
    for fold in range(folds):
        rows = labelled[fold_of == fold]
        y = data.y.clone()
        y[rows] = -1
        # A class with no other label would have to be told by nothing.
        rows = rows[torch.isin(data.y[rows], y[y >= 0])]
        if not len(rows):
            continue
        try:
            model = fit(recipe, TrainingData(data.x, y, data.classes, data.levels), seed, on_step=on_step).model
        except DivergedError:
            continue
        found = log_joint_of(model, data.x[rows], data.levels).argmax(1)
        right, told = right + int((found == data.y[rows]).sum()), told + len(rows)
    return right, told


def _deal(y: Tensor, folds: int) -> Tensor:
    """Return a fold for each label, the labels of each class in turn."""
    fold_of, turn = torch.empty_like(y), 0
    for k in y.unique():
        rows = (y == k).nonzero()[:, 0]
        fold_of[rows] = (torch.arange(len(rows)) + turn) % folds
        turn += len(rows)
    return fold_of
