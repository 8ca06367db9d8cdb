"""What each ingredient of the recipe mnist brings: the recipe without it, in a short and equal time."""

from typing import Any

from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study

# Residual nets of one block do about the work of two Glow steps, so there are half as many.
_RESIDUAL: dict[str, Any] = {
    "model.f.net": "residual",
    "model.f.hidden": 32,
    "model.f.levels.0.channel": 5,
    "model.f.levels.1.channel": 6,
}
WITHOUT: dict[str, dict[str, Any]] = {
    "mnist": {},
    "no-graph": {"training.guess": 0.0},
    "no-covariances": {"model.h.class_linear": False},
    "gaussians": {"model.h": {"kind": "gaussian", "covariance": "full"}},
    "adam": {"training.optimizer": "adam"},
    "residual-nets": _RESIDUAL,
    "plain-logit": {"model.pixels": "logit"},
    "no-split-prior": {"model.f.split_prior": False},
    "larger-z-f": {"model.f.levels.1.keep": 4},
    "heavy-labels": {"training.labelled_weight": 0.25, "training.labelled_share": 0.25},
}


def rows(recipe: str) -> tuple[Row, ...]:
    """Return the recipe as it is, and without each ingredient in turn."""
    return tuple(Row(name, recipe, {"name": f"ablation-{name}", **keys}) for name, keys in WITHOUT.items())


STUDY = Study(name="ablation", rows=rows("mnist"), data=("mnist",), labels=100, splits=1, minutes=5.0)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.ablation_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
