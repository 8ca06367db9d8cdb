"""Fitting a recipe to a split and recording it, as every experiment does it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from scnf.data import Split
from scnf.evaluation.records import run_record
from scnf.evaluation.trained import evaluate_on
from scnf.modelfile import TrainedModel
from scnf.recipes.schema import Recipe
from scnf.training import Fitted, TrainingData, fit

_SECONDS_BETWEEN_CHECKPOINTS = 20.0
_CHECKPOINTS_AT_LEAST = 50  # however little time there is


def fit_split(
    recipe: Recipe, split: Split, report: Callable[[float], None], checkpoint: Path | None = None, often: bool = False
) -> tuple[Fitted, TrainedModel]:
    """Train on a split and return the fit and what a model file holds; ``report`` is told the share that is done.

    A fit that left a checkpoint goes on from it. ``often``: a fit by steps, which may be over in seconds, leaves a
    checkpoint at each of them.
    """

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        report(done)

    minutes = recipe.training.max_minutes
    if minutes is not None:
        seconds = min(_SECONDS_BETWEEN_CHECKPOINTS, 60 * minutes / _CHECKPOINTS_AT_LEAST)
    else:
        seconds = 0.0 if often else _SECONDS_BETWEEN_CHECKPOINTS
    data = TrainingData.of(split)
    fitted = fit(recipe, data, split.seed, checkpoint, resume=True, on_step=on_step, checkpoint_seconds=seconds)
    source = {"name": split.name, "labels": split.labelled, "seed": split.seed}
    return fitted, TrainedModel(fitted.model, recipe, split.classes, split.levels, source)


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
        **fitted.course,
        seed=split.seed,
        **more,
    )
