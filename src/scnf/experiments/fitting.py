"""Fitting a recipe to a split, as every experiment does it."""

from collections.abc import Callable

from scnf.data import Split
from scnf.modelfile import TrainedModel
from scnf.recipes.schema import Recipe
from scnf.training import Fitted, TrainingData, fit


def fit_split(recipe: Recipe, split: Split, seed: int, report: Callable[[float], None]) -> tuple[Fitted, TrainedModel]:
    """Train on a split and return the fit and what a model file holds; ``report`` is told the share that is done."""

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        report(done)

    fitted = fit(recipe, TrainingData.of(split), seed, on_step=on_step)
    data = {"name": split.name, "labels": split.labelled, "seed": split.seed}
    return fitted, TrainedModel(fitted.model, recipe, split.classes, split.levels, data)
