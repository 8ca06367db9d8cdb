"""Running a study: what has no record yet is trained side by side, and pages are made from the records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from scnf.data import load
from scnf.errors import UserError
from scnf.evaluation.density import density_quantiles
from scnf.evaluation.records import write_record
from scnf.experiments import Options
from scnf.experiments.curves import Snapshots, curves_of
from scnf.experiments.fitting import fit_split, record_of
from scnf.experiments.pool import Report, one_thread, run_tasks
from scnf.experiments.rendering import Rendered, root_of
from scnf.experiments.study import FitTask, Study, plan
from scnf.experiments.summary import records_of
from scnf.recipes import Recipe

# Makes the pages in a folder from the records of these recipes, by row, and brings a README up to date.
Render = Callable[[Path, Mapping[str, Recipe], Path | None], dict[str, Any]]


class Task(Protocol):
    """One fit of an experiment: its name and that of its data, and whether it is done."""

    @property
    def experiment(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def labels(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def data_dir(self) -> Path | None: ...
    def is_done(self) -> bool:
        """Return whether its record is there."""
        ...


T = TypeVar("T", bound=Task)


def run_fit(task: FitTask, report: Report) -> None:
    """Fit, evaluate and write model and record; the record comes last and says all is there.

    A fit that was killed goes on from its checkpoint.
    """
    split = load(task.data, task.labels, task.seed, task.data_dir)
    task.record_path.parent.mkdir(parents=True, exist_ok=True)
    snapshots = Snapshots(task.checkpoint_path)

    def on_share(share: float) -> None:
        if task.curves:
            snapshots.take(share)
        report(share)

    fitted, trained = fit_split(task.recipe, split, on_share, task.checkpoint_path, often=task.curves)
    curves = curves_of(snapshots, fitted, trained, split) if task.curves else {}
    record = record_of(task.experiment, fitted, trained, split, **curves)
    if task.measure is not None:
        more = task.measure(trained, split)
        record = {**record, **more, "metrics": {**record["metrics"], **more.get("metrics", {})}}
    if task.model_path is not None:
        trained.densities = density_quantiles(trained, split.x_train)
        trained.save(task.model_path)
    write_record(task.record_path, record)
    task.clean()


def train(tasks: Sequence[T], jobs: int, console: Console, run: Callable[[T, Report], None]) -> list[str]:
    """Run the fits that have no record yet and return what went wrong, a sentence for each fit that failed."""
    todo = [task for task in tasks if not task.is_done()]
    if len(todo) < len(tasks):
        console.print(f"{len(tasks) - len(todo)} of {len(tasks)} fits have their record already.")
    _check_data(todo, console)
    failures = []
    shares = [0.0] * len(todo)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("fits"), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(
        *columns, console=console, disable=not (todo and console.is_terminal), speed_estimate_period=600
    ) as progress:
        # The bar counts whole fits; the time left also counts what the running fits have done.
        bar = progress.add_task(todo[0].experiment if todo else "", total=len(todo))

        def on_progress(index: int, share: float) -> None:
            shares[index] = max(shares[index], share)
            progress.update(bar, completed=sum(shares))

        for index, outcome in run_tasks(run, todo, jobs, on_progress):
            on_progress(index, 1.0)
            if isinstance(outcome, Exception):
                failures.append(f"{todo[index].title}: {outcome}")
                console.print(f"failed: {failures[-1]}", style="red")
            elif not console.is_terminal:
                console.print(f"{sum(share == 1 for share in shares)} of {len(todo)} fits: {todo[index].title}")
    return failures


def _check_data(tasks: Sequence[Task], console: Console) -> None:
    """Find or download the data once, and refuse what is wrong with them before the first of many fits begins."""
    for name in dict.fromkeys(task.data for task in tasks):
        task = next(task for task in tasks if task.data == name)
        with console.status(f"Reading {name} …"):
            load(name, task.labels, task.seed, task.data_dir)


def run_study(study: Study, options: Options, render: Render) -> dict[str, Any]:
    """Train what has no record yet, then render everything from the records."""
    console = Console(stderr=True, highlight=False)
    recipes = study.known_recipes(study.budget(options))
    folder = options.out / study.name
    if options.render_only and not _has_records(study, folder, recipes):
        raise UserError(f"{folder} holds no record of a present recipe; leave out --render to train first")
    failures = [] if options.render_only else train(plan(study, options), options.jobs, console, run_fit)
    root = root_of(options.out)
    readme = None if root is None else root / "README.md"
    folder.mkdir(parents=True, exist_ok=True)
    with console.status("Drawing …"), one_thread():
        summary = render(folder, recipes, readme)
    return {**summary, "failures": failures}


@dataclass(frozen=True)
class StudyExperiment:
    """An experiment that is one study: what to fit, how to run it, and what its records say.

    ``pages`` names the module that renders it. It is imported when pages are made: it draws, which no worker does.
    """

    study: Study
    pages: str

    def plan(self, options: Options) -> list[FitTask]:
        """Return all fits."""
        return plan(self.study, options)

    def run(self, options: Options, study: Study | None = None) -> dict[str, Any]:
        """Train what has no record yet, then render table and figures from the records."""
        return run_study(study or self.study, options, import_module(self.pages).render)

    def rendered(self, out: Path) -> Rendered | None:
        """Return what the records below a folder of results say, without figures; None if there are none."""
        recipes = self.study.known_recipes(self.study.budget(Options(out=out)))
        folder = out / self.study.name
        if not _has_records(self.study, folder, recipes):
            return None
        return cast(Rendered, import_module(self.pages).rendered(folder, recipes))


def _has_records(study: Study, folder: Path, recipes: Mapping[str, Recipe]) -> bool:
    any_time = not study.one_time
    return any(records_of(folder / name, recipe, any_time) for name, recipe in recipes.items())
