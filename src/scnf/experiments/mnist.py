"""The headline: MNIST and Fashion-MNIST with 100 labels, by likelihood alone and with consistency beside it."""

from pathlib import Path
from typing import Any

from scnf.experiments import Options
from scnf.experiments.rendering import Rendered
from scnf.experiments.running import run_study, study_rendered
from scnf.experiments.study import FitTask, Row, Study
from scnf.experiments.study import plan as plan_study

STUDY = Study(
    name="mnist",
    rows=(Row("likelihood", "mnist"), Row("consistency", "mnist-consistency")),
    data=("mnist", "fashion-mnist"),
    labels=100,
    splits=3,
    minutes=150.0,
    models="all",
    curves=True,
)


def plan(options: Options) -> list[FitTask]:
    """Return all fits."""
    return plan_study(STUDY, options)


def run(options: Options, study: Study = STUDY) -> dict[str, Any]:
    """Train what has no record yet, then render table, curves and samples."""
    from scnf.experiments.mnist_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    return run_study(study, options, render)


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.mnist_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    return study_rendered(STUDY, out, rendered)
