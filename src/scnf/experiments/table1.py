"""Table 1 of the paper: moons and circles with ten labels, for every pair of f and h, over many splits."""

from pathlib import Path
from typing import Any

from scnf.experiments import Options
from scnf.experiments.rendering import Rendered
from scnf.experiments.running import run_study, study_rendered
from scnf.experiments.study import FitTask, Row, Study
from scnf.experiments.study import plan as plan_study

# The row that is our own recipe, the one that the demo runs.
OURS = "ffjord-ffjord"

STUDY = Study(
    name="table1",
    rows=(
        Row("glow-glow", "table1-glow-glow"),
        Row("glow-gmm", "table1-glow-gmm"),
        Row("ffjord-glow", "table1-ffjord-glow"),
        Row("ffjord-gmm", "table1-ffjord-gmm"),
        Row("glow-ffjord", "table1-glow-ffjord"),
        Row(OURS, "toy"),
    ),
    data=("moons", "circles"),
    labels=10,
    splits=20,
    models="first",
)


def plan(options: Options) -> list[FitTask]:
    """Return all fits."""
    return plan_study(STUDY, options)


def run(options: Options, study: Study = STUDY) -> dict[str, Any]:
    """Train what has no record yet, then render the table and the figures from the records."""
    from scnf.experiments.table1_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    return run_study(study, options, render)


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.table1_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    return study_rendered(STUDY, out, rendered)
