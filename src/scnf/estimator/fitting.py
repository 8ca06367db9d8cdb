"""What fitting an estimator takes: a recipe, the training, and the temperature of its probabilities."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scnf.errors import UserError
from scnf.estimator.inputs import Inputs
from scnf.fitting import fit_model
from scnf.modelfile import TrainedModel
from scnf.recipes import Recipe, load_recipe
from scnf.recipes.choose import choose_recipe
from scnf.recipes.load import with_overrides
from scnf.training import TrainingData


@dataclass(frozen=True)
class Settings:
    """What the estimator's parameters ask for."""

    recipe: str | Path | Recipe | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    n_init: int | None = None
    max_seconds: float | None = None
    calibrate: bool = True
    verbose: int = 0


@dataclass(frozen=True)
class FittedRows:
    """A trained model and its training curve."""

    model: TrainedModel
    history: list[dict[str, Any]]


def fit_rows(inputs: Inputs, codes: np.ndarray, classes: tuple[str, ...], seed: int, settings: Settings) -> FittedRows:
    """Train on the rows of inputs; ``codes`` are -1 where there is no label."""
    assert inputs.rows is not None
    levels = None if inputs.images is None else inputs.images.levels
    data = TrainingData(inputs.rows, torch.from_numpy(codes), len(classes), levels)
    recipe = recipe_for(data, settings)
    say: Callable[[str], None] = print if settings.verbose else lambda text: None
    say(f"{len(codes)} rows, {int((codes >= 0).sum())} with a label of {len(classes)} classes; recipe {recipe.name}")
    told = {"rows": len(codes), "labels": int((codes >= 0).sum())}
    done = fit_model(
        recipe,
        data,
        inputs.given,
        classes,
        seed,
        inputs.table,
        told,
        settings.calibrate,
        on_step=_progress(say, recipe),
    )
    model, fitted = done.model, done.training
    say(f"{fitted.seconds:.0f} seconds, {sum(fitted.steps)} steps, temperature {model.temperature:.2f}")
    return FittedRows(model, [asdict(record) for record in fitted.history])


def recipe_for(data: TrainingData, settings: Settings) -> Recipe:
    """Return the recipe that the settings ask for."""
    changes = _changes(settings)
    if settings.recipe is None:
        recipe = choose_recipe(data.x, data.y, data.levels)
    elif isinstance(settings.recipe, Recipe):
        recipe = settings.recipe
    else:
        recipe = load_recipe(settings.recipe)
    return with_overrides(recipe, changes) if changes else recipe


def _changes(settings: Settings) -> dict[str, Any]:
    """Return the keys of a recipe that the settings change."""
    # Whatever was handed in: scikit-learn's estimators look at their parameters when they are fitted.
    given: Any = settings.overrides
    seconds: Any = settings.max_seconds
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise UserError(f"settings must be a dict of a recipe's keys, such as {{'training.steps': 100}}, got {given!r}")
    changes = dict(given)
    if settings.n_init is not None:
        changes["training.n_init"] = settings.n_init
    if seconds is not None:
        number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
        if not number or not 0 < seconds < math.inf:
            raise UserError(f"max_seconds must be a finite number above 0, got {seconds!r}")
        changes["training.max_minutes"] = float(seconds) / 60
    return changes


def _progress(say: Callable[[str], None], recipe: Recipe) -> Callable[[int, int, float, float], None]:
    tenth = 0

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        nonlocal tenth
        if int(10 * done) > tenth:
            tenth = int(10 * done)
            say(f"{10 * tenth} %: restart {restart + 1} of {recipe.training.n_init}, step {step}, loss {loss:.3f}")

    return on_step
