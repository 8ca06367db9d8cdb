"""Appendix B of the paper: SGD against EM-SGD as learning curves on the same splits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from scnf.errors import UserError
from scnf.evaluation.records import read_records
from scnf.experiments import Options, choose
from scnf.experiments.pool import one_thread
from scnf.experiments.rendering import Rendered
from scnf.experiments.running import run_fit, train
from scnf.experiments.study import FitTask, Row, Study
from scnf.experiments.study import plan as plan_study

NAME = "appendix-b"
OBJECTIVES = ("sgd", "em")


def rows(recipe: str, name: str) -> tuple[Row, ...]:
    """Return a recipe with either objective."""
    return tuple(
        Row(f"{name}-{objective}", recipe, {"name": f"{name}-{objective}", "training.objective": objective})
        for objective in OBJECTIVES
    )


STUDIES = (
    Study(NAME, rows("toy", "toy"), ("moons", "circles"), labels=10, splits=5, curves=True),
    Study(NAME, rows("digits", "digits"), ("digits",), labels=100, splits=3, curves=True),
)


def plan(options: Options, studies: tuple[Study, ...] = STUDIES) -> list[FitTask]:
    """Return all fits."""
    data = choose("data set", [name for study in studies for name in study.data], options.data)
    chosen = choose("recipe", [row.name for study in studies for row in study.rows], options.recipes)
    tasks = []
    for study in studies:
        its_data = [name for name in study.data if name in data]
        its_rows = [row.name for row in study.rows if row.name in chosen]
        tasks += plan_study(study, replace(options, data=its_data, recipes=its_rows))
    return tasks


def run(options: Options, studies: tuple[Study, ...] = STUDIES) -> dict[str, Any]:
    """Train what has no record yet, then render table and curves from the records, MNIST's from Table 2's."""
    from scnf.experiments.appendix_b_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    console = Console(stderr=True, highlight=False)
    folder = options.out / NAME
    names = [row.name for study in studies for row in study.rows]
    if options.render_only and not any(read_records(folder / name) for name in names):
        raise UserError(f"{folder} holds no record; leave out --render to train first")
    failures = [] if options.render_only else train(plan(options, studies), options.jobs, console, run_fit)
    with one_thread():
        return {**render(options.out, studies), "failures": failures}


def rendered(out: Path, studies: tuple[Study, ...] = STUDIES) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.appendix_b_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    found = rendered(out, studies)
    return found if found.summary["rows"] else None
