"""Pictures of how a training went."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from scnf.evaluation import plots
from scnf.recipes import Recipe
from scnf.reporting.pictures import Picture, picture

_Curves = dict[int, list[tuple[int, float]]]


def nats_of_levels(dimensions: int, levels: int | None) -> float:
    """Return what turns nats of the model's unit, 1/levels of the data's, into those of the data's."""
    return 0.0 if levels is None else dimensions * math.log(levels)


def objective_picture(
    history: Sequence[Mapping[str, Any]], objectives: Sequence[float | None], recipe: Recipe, shift: float = 0.0
) -> Picture:
    """Return the objective of all restarts; ``shift`` is added to it."""
    curves = _curves(history, "loss", shift)
    caption = "The objective at every step."
    if len(curves) > 1:
        caption = f"The objective of {len(curves)} restarts; the strong line is the one that was kept."
    if recipe.training.labelled_weight_start is not None:
        caption += " Labelled rows weigh more at the start."
    best = best_restart(objectives)
    return picture("Training", caption, lambda theme: plots.curve_figure(curves, best, theme))


def training_pictures(
    history: Sequence[Mapping[str, Any]], objectives: Sequence[float | None], recipe: Recipe, shift: float = 0.0
) -> list[Picture]:
    """Return the objective, the likelihood of rows kept aside and the error on labelled rows, as far as recorded."""
    best = best_restart(objectives)
    pictures = [objective_picture(history, objectives, recipe, shift)] if _curves(history, "loss") else []
    others = [
        (
            "held_out",
            shift,
            "−log p(x), nats",
            "Rows kept aside",
            "−log p(x) of rows that were not trained on, with the averaged weights. The weights that tell them best "
            "were kept.",
        ),
        (
            "labelled_error",
            0.0,
            "wrong, %",
            "Labelled training rows",
            "The share of them that the model gets wrong. It learned from these labels, so it flatters.",
        ),
    ]
    for key, added, unit, title, caption in others:
        if curves := _curves(history, key, added):
            pictures.append(picture(title, caption, partial(plots.curve_figure, curves, best, y_title=unit)))
    return pictures


def best_restart(objectives: Sequence[float | None]) -> int:
    """Return the restart that was kept."""
    values = [math.inf if value is None or math.isnan(value) else value for value in objectives]
    return int(np.argmin(values)) if values else 0


def _curves(history: Sequence[Mapping[str, Any]], key: str, shift: float = 0.0) -> _Curves:
    curves: _Curves = {}
    for point in history:
        if point.get(key) is not None:
            curves.setdefault(int(point["restart"]), []).append((int(point["step"]), float(point[key]) + shift))
    return curves
