"""Fitting a recipe to a split, as every experiment does it."""

from collections.abc import Callable

import torch

from scnf.data import Split
from scnf.evaluation.metrics import evaluate
from scnf.modelfile import TrainedModel
from scnf.recipes.schema import Recipe
from scnf.training import Fitted, TrainingData, fit


def training_data(split: Split) -> TrainingData:
    """Return the training rows of a split as tensors."""
    return TrainingData(torch.tensor(split.x_train), torch.tensor(split.y_train), len(split.classes), split.levels)


def fit_split(recipe: Recipe, split: Split, seed: int, report: Callable[[float], None]) -> Fitted:
    """Train on a split; ``report`` is told the share of all steps that is done."""
    steps = recipe.training.steps
    total = steps * recipe.training.n_init
    return fit(
        recipe, training_data(split), seed, on_step=lambda restart, step, loss: report((restart * steps + step) / total)
    )


def metrics_on_test(fitted: Fitted, split: Split) -> dict[str, float]:
    """Return the metrics on the split's test rows."""
    return evaluate(fitted.model, torch.tensor(split.x_test), torch.tensor(split.y_test), split.levels)


def trained_model(fitted: Fitted, recipe: Recipe, split: Split) -> TrainedModel:
    """Return what a model file holds, with the split to find again."""
    data = {"name": split.name, "labels": split.labelled, "seed": split.seed}
    return TrainedModel(fitted.model, recipe, split.classes, split.levels, data)
