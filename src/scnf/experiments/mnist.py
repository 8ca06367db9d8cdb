"""The headline: MNIST and Fashion-MNIST with 100 labels, by likelihood alone and with consistency beside it."""

from typing import Any

from scnf.experiments import Options
from scnf.experiments.running import run_study
from scnf.experiments.study import Row, Study

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


def run(options: Options, study: Study = STUDY) -> dict[str, Any]:
    """Train what has no record yet, then render table, curves and samples."""
    from scnf.experiments.mnist_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    return run_study(study, options, render)
