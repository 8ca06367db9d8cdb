"""What each ingredient of the recipes for MNIST brings: the recipe without it, in a short, equal time."""

from typing import Any

from scnf.experiments.mnist import PRODUCTS
from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study

# Residual nets of one block do about the work of two Glow steps, so there are half as many.
_RESIDUAL: dict[str, Any] = {
    "model.f.net": "residual",
    "model.f.hidden": 32,
    "model.f.levels.0.channel": 5,
    "model.f.levels.1.channel": 6,
}
_OF_LIKELIHOOD: dict[str, dict[str, Any]] = {
    "mnist-joint": {},
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
_OF_THE_PAPER: dict[str, dict[str, Any]] = {
    "mnist": {},
    "together": {"training.rounds": 1, "training.h_alone": 0.0},
    "light-labels": {"training.labelled_share": 0.125, "training.labelled_weight": 0.02},
}
_OF_GRAPH: dict[str, dict[str, Any]] = {
    "mnist-graph": {},
    "graph-together": {"training.h_alone": 0.0},
    "graph-narrow": {"model.f.levels.1.hidden": None},
    "graph-shallow": {"model.h.hidden": [256]},
}
_OF_CONSISTENCY: dict[str, dict[str, Any]] = {
    "mnist-consistency": {},
    "consistency-no-graph": {"training.guess": 0.0},
    "consistency-graph-alone": {"training.guess": 1.0},
    "consistency-unaltered": {
        "training.consistency.augment": {"shift": 0.0, "rotate": 0.0, "scale": 0.0, "shear": 0.0}
    },
    "consistency-light": {"training.consistency.weight": 100.0, "training.consistency.weight_end": None},
    "consistency-heavy": {"training.consistency.weight_end": 2000.0},
    "consistency-no-limit": {"training.consistency.limit": None},
    "consistency-no-decay": {"training.weight_decay": 0.0},
    "consistency-high-clip": {"training.clip": 50_000.0},
    "consistency-cold": {"training.consistency.temperature": 4.0},
}
# Each recipe as it is, under its name, and without an ingredient in turn.
WITHOUT = {
    "mnist": _OF_THE_PAPER,
    "mnist-joint": _OF_LIKELIHOOD,
    "mnist-graph": _OF_GRAPH,
    "mnist-consistency": _OF_CONSISTENCY,
}


def rows(of: str, recipe: str) -> tuple[Row, ...]:
    """Return a recipe in the place of one that is taken apart: as it is, and without each ingredient in turn."""
    return tuple(
        Row(name, recipe, {"name": f"ablation-{name}", **PRODUCTS, **keys}) for name, keys in WITHOUT[of].items()
    )


_ROWS = tuple(row for recipe in WITHOUT for row in rows(recipe, recipe))
STUDY = Study(name="ablation", rows=_ROWS, data=("mnist",), labels=100, splits=1, minutes=10.0, one_time=False)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.ablation_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
