"""Probabilities that mean what they say: a temperature from labels that the model did not see, and its effect."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scnf.evaluation.metrics import log_joint_of
from scnf.recipes.schema import Recipe
from scnf.training import DivergedError, TrainingData, fit

_FOLDS = 3
_LOWEST, _HIGHEST, _HALVINGS = 0.05, 10_000.0, 40


def best_temperature(log_joint: Tensor, y: Tensor) -> float:
    """Return the T for which softmax(log_joint / T) is as sure of itself, in the mean, as it is often right.

    How often is told by Laplace's rule, (right + 1)/(rows + 2): few rows without a mistake are no proof that there are
    none. Unlike the T of the best cross-entropy it does not hang on the few rows that are far off, of which a
    high-dimensional density is surest. Reference for the temperature: Guo et al., On Calibration of Modern Neural
    Networks (2017).
    """
    log_joint = log_joint.double()
    usable = log_joint.isfinite().all(1)
    if log_joint.shape[1] < 2 or not bool(usable.any()):
        return 1.0
    log_joint, y = log_joint[usable], y[usable]
    right = (int((log_joint.argmax(1) == y).sum()) + 1) / (len(y) + 2)
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        sure = float((log_joint / math.exp(middle)).softmax(1).amax(1).mean())
        low, high = (middle, high) if sure > right else (low, middle)
    return math.exp((low + high) / 2)


def cross_fitted_temperature(recipe: Recipe, data: TrainingData, seed: int, folds: int = _FOLDS) -> float:
    """Return the best temperature on labels that were hidden from the model that tells them.

    The labelled rows are dealt into folds; for each fold a model is trained from one start in a third of the steps with
    the labels of that fold hidden. Their rows stay, as rows without a label do in use.
    """
    labelled = (data.y >= 0).nonzero()[:, 0]
    fold_of = _deal(data.y[labelled], folds)
    training = recipe.training.model_copy(update={"n_init": 1, "steps": max(recipe.training.steps // folds, 1)})
    short = recipe.model_copy(update={"training": training})
    told, truth = [], []
    for fold in range(folds):
        rows = labelled[fold_of == fold]
        y = data.y.clone()
        y[rows] = -1
        # A class with no other label would have to be told by nothing.
        known = torch.isin(data.y[rows], y[y >= 0])
        if not bool(known.any()):
            continue
        hidden = TrainingData(data.x, y, data.classes, data.levels)
        try:
            model = fit(short, hidden, seed).model
        except DivergedError:
            continue
        told.append(log_joint_of(model, data.x[rows[known]], data.levels))
        truth.append(data.y[rows[known]])
    return best_temperature(torch.cat(told), torch.cat(truth)) if told else 1.0


def _deal(y: Tensor, folds: int) -> Tensor:
    """Return a fold for each label, the labels of each class in turn."""
    fold_of, turn = torch.empty_like(y), 0
    for k in y.unique():
        rows = (y == k).nonzero()[:, 0]
        fold_of[rows] = (torch.arange(len(rows)) + turn) % folds
        turn += len(rows)
    return fold_of


@dataclass(frozen=True)
class Reliability:
    """Mean confidence, accuracy and number of rows in bins of confidence that hold any, ``[bins]`` each."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean gap between confidence and accuracy, as a share."""
        return float((self.rows * np.abs(self.confidence - self.accuracy)).sum() / self.rows.sum())


def reliability(probabilities: np.ndarray, y: np.ndarray, bins: int = 15) -> Reliability:
    """Return how often rows are told rightly, by how sure the model is of them.

    Example:
        >>> import numpy as np
        >>> told = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
        >>> found = reliability(told, np.array([0, 1, 1]))
        >>> found.accuracy.tolist(), round(found.ece, 3)
        ([1.0, 0.5], 0.4)
    """
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == y
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    used = np.unique(bin_of)
    members = [bin_of == b for b in used]
    return Reliability(
        np.array([confidence[m].mean() for m in members]),
        np.array([correct[m].mean() for m in members]),
        np.array([int(m.sum()) for m in members]),
    )
