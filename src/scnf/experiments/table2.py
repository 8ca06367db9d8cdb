"""Table 2 of the paper: MNIST with 100 labels, two densities on top and three objectives, all in the same time."""

from typing import Any

from scnf.experiments.mnist import PRODUCTS
from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study

# The paper gives no weight for its classification loss; it is added as it is, in nats a labelled row.
_CLF_WEIGHT = 1.0
OBJECTIVES: dict[str, dict[str, Any]] = {
    "sgd": {"training.objective": "sgd", "training.clf_weight": 0.0},
    "em-clf": {"training.objective": "em", "training.clf_weight": _CLF_WEIGHT},
    "em": {"training.objective": "em", "training.clf_weight": 0.0},
}
_DENSITIES: dict[str, dict[str, Any]] = {
    "glow": {},  # the recipe's own
    "gmm": {"model.h": {"kind": "gaussian", "covariance": "full"}},
}


def rows(recipe: str) -> tuple[Row, ...]:
    """Return the rows of the table, all of them one recipe with a few keys changed."""
    return tuple(
        Row(f"{h}-{objective}", recipe, {"name": f"table2-{h}-{objective}", **PRODUCTS, **density, **keys})
        for h, density in _DENSITIES.items()
        for objective, keys in OBJECTIVES.items()
    )


STUDY = Study(name="table2", rows=rows("mnist"), data=("mnist",), labels=100, splits=3, minutes=10.0, curves=True)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.table2_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
