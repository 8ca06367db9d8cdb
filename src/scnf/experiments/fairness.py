"""Hiding sex in the census table, and telling income all the same: few and all values of the protected column known."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from scnf.data.census import PROTECTED, TASK, load_census
from scnf.data.labels import hide_labels
from scnf.errors import UserError
from scnf.evaluation.records import read_record, run_record, write_record
from scnf.experiments import Options
from scnf.experiments.pool import one_thread
from scnf.experiments.rendering import Rendered
from scnf.experiments.study import record_is_of
from scnf.fairness import AttributeHider, measure
from scnf.recipes import Recipe, load_recipe
from scnf.tables import Table

NAME = "fairness"
RECIPE = "table"
LABELS = ("200", "all")
# The census's own weight of a row is nothing of a person, and education is told by education-num already.
LEFT_OUT = ("fnlwgt", "education")


@dataclass(frozen=True)
class FairTask:
    """One fit: how many values of the protected column are known ("all" or a number), the recipe and the seed."""

    labels: str
    recipe: Recipe
    seed: int
    folder: Path

    @property
    def minutes(self) -> float | None:
        """The time that it has; None if it ends after its steps."""
        return self.recipe.training.max_minutes

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return self.folder / f"{self.labels}-{self.seed}.json"

    def is_done(self) -> bool:
        """Return whether a record of this very recipe is there."""
        return self.record_path.is_file() and record_is_of(read_record(self.record_path), self.recipe)


def run_task(task: FairTask, train: Table, test: Table) -> dict[str, Any]:
    """Fit on the training rows, measure on the test rows what is let go, and return the record."""
    train, test = (table.without(LEFT_OUT) for table in (train, test))
    sex, income = ([table.columns[name].astype(str) for table in (train, test)] for name in (PROTECTED, TASK))
    seen, let_go = _hidden(train, task), test
    if task.labels != "all":
        # Where few values are known, nobody tells those of new rows either.
        let_go = test.without([PROTECTED])
    started, cpu_started = time.perf_counter(), time.process_time()
    hider = AttributeHider(PROTECTED, task=TASK, recipe=task.recipe, random_state=task.seed).fit(seen)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    truth = ((sex[0], sex[1]), (income[0], income[1]))
    hidden = measure(hider.transform(seen), hider.transform(let_go), *truth, seed=task.seed)
    # The same whatever is known of it, so once is enough.
    raw = measure(hider.encode(train), hider.encode(test), *truth, seed=task.seed) if task.labels == "all" else None
    known = len(train) if task.labels == "all" else int(task.labels)
    told = float((hider.predict(test) == sex[1]).mean())
    return run_record(
        NAME,
        task.recipe,
        {"name": "census", "labels": known, "known": task.labels, "seed": task.seed, "split": "the published files"},
        {"recovered": hidden.strongest, "task_accuracy": hidden.task_accuracy, "predicted_protected": told},
        seconds,
        cpu_seconds=cpu_seconds,
        protected=PROTECTED,
        task=TASK,
        rows={"train": len(train), "test": len(test)},
        hidden=hidden.as_dict(),
        raw=None if raw is None else raw.as_dict(),
    )


def _hidden(train: Table, task: FairTask) -> Table:
    """Return the training rows with so many values of the protected column known, as many of each."""
    if task.labels == "all":
        return train
    protected = train.columns[PROTECTED].copy()
    _, codes = np.unique(protected.astype(str), return_inverse=True)
    protected[hide_labels(codes, int(task.labels), task.seed) < 0] = None
    return Table({**train.columns, PROTECTED: protected}, train.named)


def _checked_labels(text: str | None) -> tuple[str, ...]:
    if text is None:
        return LABELS
    if text != "all" and not (text.isdecimal() and int(text) > 1):
        raise UserError(f"--labels is a number from 2 up or all, got {text!r}")
    return (text,)


def plan(options: Options) -> list[FairTask]:
    """Return all fits."""
    limit = {} if options.minutes is None else {"training.max_minutes": options.minutes}
    recipe = load_recipe(RECIPE, limit)
    return [
        FairTask(labels, recipe, seed, options.out / NAME)
        for seed in range(options.splits or 1)
        for labels in _checked_labels(options.labels)
    ]


def run(options: Options) -> dict[str, Any]:
    """Train what has no record yet, then render the table from the records."""
    from scnf.experiments.fairness_render import render  # noqa: PLC0415

    folder = options.out / NAME
    if not options.render_only:
        console = Console(stderr=True, highlight=False)
        todo = [task for task in plan(options) if not task.is_done()]
        train, test = load_census(options.data_dir) if todo else (None, None)
        for task in todo:
            assert train is not None
            assert test is not None
            with console.status(f"Hiding {PROTECTED}, {task.labels} known …"), one_thread():
                write_record(task.record_path, run_task(task, train, test))
    return {**render(folder), "failures": []}


def rendered(out: Path) -> Rendered | None:
    """Return what the records say."""
    from scnf.experiments.fairness_render import rendered, summarize  # noqa: PLC0415

    return rendered(summarize(out / NAME)) if any((out / NAME).glob("*-*.json")) else None
