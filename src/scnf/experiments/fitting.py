"""Fitting a recipe to a split and recording it, as every experiment does it."""

from collections.abc import Callable
from typing import Any

from scnf.data import Split
from scnf.evaluation.records import run_record
from scnf.evaluation.trained import evaluate_on
from scnf.modelfile import TrainedModel
from scnf.recipes.schema import Recipe
from scnf.training import Fitted, TrainingData, fit


def fit_split(recipe: Recipe, split: Split, report: Callable[[float], None]) -> tuple[Fitted, TrainedModel]:
    """Train on a split and return the fit and what a model file holds; ``report`` is told the share that is done."""

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        report(done)

    fitted = fit(recipe, TrainingData.of(split), split.seed, on_step=on_step)
    data = {"name": split.name, "labels": split.labelled, "seed": split.seed}
    return fitted, TrainedModel(fitted.model, recipe, split.classes, split.levels, data)


def record_of(experiment: str, fitted: Fitted, trained: TrainedModel, split: Split, **more: Any) -> dict[str, Any]:
    """Return the record of a fit with its metrics on the test rows of its split."""
    return run_record(
        experiment,
        trained.recipe,
        trained.data,
        evaluate_on(trained, split),
        fitted.seconds,
        cpu_seconds=fitted.cpu_seconds,
        parameters=fitted.parameters,
        objectives=fitted.objectives,
        steps=fitted.steps,
        seed=split.seed,
        **more,
    )
