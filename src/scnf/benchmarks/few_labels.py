"""How well ``SCNFClassifier`` classifies as it comes, with few labels, beside scikit-learn's classifiers.

Three of scikit-learn's real data sets, ten splits each: two thirds for training, a few labels of each class kept. A
split that has its record is not fitted again, unless the recipe that is chosen for it has changed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from scnf.baselines.sklearn import COMPARED, run_baseline
from scnf.data import Split
from scnf.data.labels import hide_labels
from scnf.estimator import SCNFClassifier
from scnf.estimator.fitting import Settings, recipe_for
from scnf.estimator.inputs import Inputs
from scnf.evaluation.records import read_record, run_record, write_record
from scnf.evaluation.reliability import reliability
from scnf.experiments.pool import Report, run_tasks
from scnf.experiments.study import record_is_of
from scnf.recipes import Recipe
from scnf.training import TrainingData

EXPERIMENT = "labels"
SPLITS = 10
# Numbers of labels; the first of each data set is the one in the table, the others are for the plot.
LABELS: dict[str, tuple[int, ...]] = {
    "digits": (100, 50, 200),
    "breast-cancer": (20, 10, 50),
    "wine": (15, 9, 30),
}
TABLE = (("digits", 100), ("digits", 50), ("breast-cancer", 20), ("wine", 15))


def load_rows(data: str, labels: int, seed: int) -> Split:
    """Return a split of one of scikit-learn's data sets; digits are images [n, 8, 8], the others tables."""
    from sklearn import datasets  # noqa: PLC0415 (takes a second)
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    loaders = {"digits": "load_digits", "breast-cancer": "load_breast_cancer", "wine": "load_wine"}
    found = getattr(datasets, loaders[data])()
    x = found.images.astype(np.uint8) if data == "digits" else found.data
    x_train, x_test, y_train, y_test = train_test_split(
        x, found.target, test_size=1 / 3, stratify=found.target, random_state=seed
    )
    hidden = hide_labels(y_train, labels, seed)
    return Split(data, seed, x_train, hidden, x_test, y_test, tuple(map(str, found.target_names)))


@dataclass(frozen=True)
class FewLabels:
    """One split with so many labels, and the folder of its record."""

    data: str
    labels: int
    seed: int
    folder: Path

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.data} with {self.labels} labels, seed {self.seed}"

    @property
    def path(self) -> Path:
        """Where the record goes."""
        return self.folder / f"{self.data}-{self.labels}" / f"{self.seed}.json"

    def recipe(self) -> Recipe:
        """Return the recipe that the classifier chooses."""
        split = load_rows(self.data, self.labels, self.seed)
        inputs = Inputs.learned_from(SCNFClassifier(), split.x_train, split.y_train)
        assert inputs.rows is not None
        levels = None if inputs.images is None else inputs.images.levels
        data = TrainingData(inputs.rows, torch.from_numpy(split.y_train), len(split.classes), levels)
        return recipe_for(data, Settings())

    def is_done(self) -> bool:
        """Return whether there is a record of the recipe that would be chosen today."""
        return self.path.is_file() and record_is_of(read_record(self.path), self.recipe())


def run_one(task: FewLabels, report: Report) -> None:
    """Fit the classifier and all others on a split, and write the record."""
    split = load_rows(task.data, task.labels, task.seed)
    baselines = {name: run_baseline(name, split).error for name in COMPARED}
    started, cpu_started = time.perf_counter(), time.process_time()
    classifier = SCNFClassifier(random_state=task.seed).fit(split.x_train, split.y_train)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    after = classifier.predict_proba(split.x_test)
    before = softmax(classifier.predict_log_proba(split.x_test) * classifier.model_.temperature, axis=1)
    told = {"before": reliability(before, split.y_test), "after": reliability(after, split.y_test)}
    metrics = {
        "error": float((after.argmax(1) != split.y_test).mean()) * 100,
        "nll": -float(classifier.score_samples(split.x_test).mean()),
        "ece_before": told["before"].ece,
        "ece": told["after"].ece,
    }
    record = run_record(
        EXPERIMENT,
        classifier.model_.recipe,
        {"name": task.data, "labels": task.labels, "seed": task.seed},
        metrics,
        seconds,
        cpu_seconds=cpu_seconds,
        temperature=classifier.model_.temperature,
        steps=classifier.history_[-1]["step"],
        baselines=baselines,
        reliability={name: {k: v.tolist() for k, v in vars(bins).items()} for name, bins in told.items()},
    )
    write_record(task.path, record)


def plan(out: Path, splits: int = SPLITS) -> list[FewLabels]:
    """Return all fits, those of the table first; split by split, so that an early stop leaves as many of each."""
    others = [(data, n) for data, counts in LABELS.items() for n in counts if (data, n) not in TABLE]
    return [
        FewLabels(data, n, seed, out / EXPERIMENT)
        for pairs in (TABLE, others)
        for seed in range(splits)
        for data, n in pairs
    ]


def run(
    out: Path,
    splits: int = SPLITS,
    jobs: int = 2,
    render_only: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Fit what has no record yet, write table and plots from the records, and return the summary."""
    from scnf.benchmarks.few_labels_page import render  # noqa: PLC0415 (matplotlib is for this process alone)

    tasks = plan(out, splits)
    failures = [] if render_only else list(_failures(tasks, jobs, say))
    return {**render(out / EXPERIMENT, tasks), "failures": failures}


def _failures(tasks: Sequence[FewLabels], jobs: int, say: Callable[[str], None]) -> Iterator[str]:
    todo = [task for task in tasks if not task.is_done()]
    if len(todo) < len(tasks):
        say(f"{len(tasks) - len(todo)} of {len(tasks)} fits have their record already")
    for done, (index, outcome) in enumerate(run_tasks(run_one, todo, jobs), start=1):
        if isinstance(outcome, Exception):
            yield f"{todo[index].title}: {outcome}"
        say(f"{done} of {len(todo)}: {todo[index].title}" + (" failed" if isinstance(outcome, Exception) else ""))
