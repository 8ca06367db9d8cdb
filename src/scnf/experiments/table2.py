"""Table 2 of the paper: MNIST with 100 labels, two densities on top and three objectives, all in the same time."""

from pathlib import Path
from typing import Any

from scnf.experiments import Options
from scnf.experiments.rendering import Rendered
from scnf.experiments.running import run_study, study_rendered
from scnf.experiments.study import FitTask, Row, Study
from scnf.experiments.study import plan as plan_study

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
        Row(f"{h}-{objective}", recipe, {"name": f"table2-{h}-{objective}", **density, **keys})
        for h, density in _DENSITIES.items()
        for objective, keys in OBJECTIVES.items()
    )


STUDY = Study(name="table2", rows=rows("mnist"), data=("mnist",), labels=100, splits=3, minutes=5.0, curves=True)


def plan(options: Options) -> list[FitTask]:
    """Return all fits."""
    return plan_study(STUDY, options)


def run(options: Options, study: Study = STUDY) -> dict[str, Any]:
    """Train what has no record yet, then render the table from the records."""
    from scnf.experiments.table2_render import render  # noqa: PLC0415 (none of the workers needs it)

    return run_study(study, options, render)


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.table2_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    return study_rendered(STUDY, out, rendered)
