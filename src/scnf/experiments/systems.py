"""The systems that the paper is compared with: the same splits, the same time, one table."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError
from rich.console import Console

from scnf.baselines.systems import SYSTEMS, System
from scnf.data import Split, load
from scnf.errors import UserError
from scnf.evaluation.metrics import bits_per_dim
from scnf.evaluation.records import read_record, read_records, run_record, write_record
from scnf.experiments import Options, choose
from scnf.experiments.pool import Report
from scnf.experiments.rendering import Rendered, root_of
from scnf.experiments.running import train
from scnf.recipes.schema import ModelSpec, TrainingSpec

NAME = "systems"
SPLITS = 3
MINUTES = 0.5
LABELS = {"moons": 10, "circles": 10, "digits": 100, "mnist": 100}
SHAPES: dict[str, tuple[int, ...]] = {"moons": (2,), "circles": (2,), "digits": (1, 8, 8), "mnist": (1, 28, 28)}
BY_DEFAULT = ("moons", "circles", "digits")  # MNIST takes hours: it is run when it is asked for
_SAMPLES = 200


class SystemRecipe(BaseModel):
    """What a record tells of a system: its settings, as those of a recipe."""

    name: str
    model: dict[str, Any]
    training: dict[str, Any]


@dataclass(frozen=True)
class SystemTask:
    """One system on one split, and the folder of all records."""

    system: str
    data: str
    seed: int
    minutes: float
    folder: Path
    data_dir: Path | None = None
    experiment: str = NAME

    @property
    def labels(self) -> int:
        """Number of labelled rows."""
        return LABELS[self.data]

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.system} on {self.data}, seed {self.seed}"

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return self.folder / self.system / f"{self.data}-{self.seed}.json"

    def make(self) -> System:
        """Return the untrained system."""
        return SYSTEMS[self.system].make(60 * self.minutes, self.seed)

    def recipe(self) -> SystemRecipe:
        """Return its settings."""
        return SystemRecipe(name=self.system, **self.make().settings(SHAPES[self.data]))

    def is_done(self) -> bool:
        """Return whether a record of these very settings is there."""
        return self.record_path.is_file() and record_is_of(read_record(self.record_path), self.recipe())


def record_is_of(record: dict[str, Any], recipe: SystemRecipe) -> bool:
    """Return whether a record's settings are these; keys that are newer than the record have their default."""
    recorded = record["recipe"]
    return all(
        _filled(spec, recorded.get(key)) == _filled(spec, getattr(recipe, key))
        for key, spec in (("model", ModelSpec), ("training", TrainingSpec))
    )


def _filled(spec: type[BaseModel], values: Any) -> Any:
    try:
        return spec.model_validate(values)
    except ValidationError:  # of a system that is no flow
        return values


def rows_of(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows as systems take them; pixels in a type that does not stand for 256 levels."""
    if split.levels is None:
        return split.x_train, split.x_test
    return split.x_train.astype(np.int32), split.x_test.astype(np.int32)


def run_system(task: SystemTask, report: Report) -> None:
    """Fit a system on a split, measure it and write the record."""
    split = load(task.data, task.labels, task.seed, task.data_dir)
    x_train, x_test = rows_of(split)
    system = task.make()
    started, cpu_started = time.perf_counter(), time.process_time()
    system.fit(x_train, split.y_train)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    started = time.perf_counter()
    predicted = system.predict(x_test)
    predicting = time.perf_counter() - started
    metrics = {"error": float(np.mean(predicted != split.y_test)) * 100, **_density_metrics(system, split, x_test)}
    record = run_record(
        NAME,
        task.recipe(),
        {"name": task.data, "labels": task.labels, "seed": task.seed},
        metrics,
        seconds,
        cpu_seconds=cpu_seconds,
        limit_minutes=task.minutes,
        parameters=getattr(system, "n_parameters_", None),
        rows_per_second=len(x_test) / predicting,
        samples_per_second=_samples_per_second(system, task.seed),
        seed=task.seed,
    )
    write_record(task.record_path, record)


def _density_metrics(system: Any, split: Split, x_test: np.ndarray) -> dict[str, float]:
    if not hasattr(system, "score_samples"):
        return {}
    try:
        nll = -float(system.score_samples(x_test).mean())
    except UserError:  # no density of such rows
        return {}
    return {"nll": nll} if split.levels is None else {"nll": nll, "bits_per_dim": bits_per_dim(nll, x_test[0].size)}


def _samples_per_second(system: Any, seed: int) -> float | None:
    if not hasattr(system, "sample"):
        return None
    started = time.perf_counter()
    system.sample(_SAMPLES, random_state=seed)
    return _SAMPLES / (time.perf_counter() - started)


def budget(options: Options) -> float:
    """Return the minutes for each fit: those asked for, else those that the records have, else half a minute."""
    if options.minutes is not None:
        if options.minutes <= 0:
            raise UserError(f"the time of a fit (--minutes) must be above 0, got {options.minutes:g}")
        return options.minutes
    records = [record for name in SYSTEMS for record in read_records(options.out / NAME / name)]
    return max((record["limit_minutes"] for record in records), default=MINUTES)


def plan(options: Options) -> list[SystemTask]:
    """Return all fits that were asked for, seed by seed, so that an early stop leaves all systems with as many."""
    systems = choose("system", list(SYSTEMS), options.recipes)
    data = choose("data set", list(LABELS), BY_DEFAULT if options.data is None else options.data)
    minutes = budget(options)
    return [
        SystemTask(system, name, seed, minutes, options.out / NAME, options.data_dir)
        for seed in range(options.splits or SPLITS)
        for system in systems
        for name in data
    ]


def run(options: Options) -> dict[str, Any]:
    """Train what has no record yet, measure the cost by the number of classes, then render from the records."""
    from scnf.experiments.systems_cost import measured_costs  # noqa: PLC0415 (none of the workers needs it)
    from scnf.experiments.systems_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    console = Console(stderr=True, highlight=False)
    folder = options.out / NAME
    tasks = plan(options)
    if options.render_only and not any(read_records(folder / name) for name in SYSTEMS):
        raise UserError(f"{folder} holds no record of a present system; leave out --render to train first")
    failures = [] if options.render_only else train(tasks, options.jobs, console, run_system)
    with console.status("Measuring the cost of many classes …"):
        costs = measured_costs(folder, anew=not options.render_only)
    root = root_of(options.out)
    readme = None if root is None else root / "README.md"
    return {**render(folder, tasks[0].minutes, costs, readme), "failures": failures}


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.systems_cost import measured_costs  # noqa: PLC0415 (none of the workers needs it)
    from scnf.experiments.systems_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    found = rendered(out / NAME, budget(Options(out=out)), measured_costs(out / NAME, anew=False))
    return found if found.summary["rows"] else None
