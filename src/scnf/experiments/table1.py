"""Table 1 of the paper: moons and circles with ten labels, for every pair of f and h, over many splits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from scnf.data import load
from scnf.evaluation.records import write_record
from scnf.experiments import Options, choose
from scnf.experiments.fitting import fit_split, record_of
from scnf.experiments.pool import Report, one_thread, run_tasks
from scnf.recipes import Recipe, load_recipe

NAME = "table1"
DATA = ("moons", "circles")
LABELS = 10
# The row that is our own recipe, the one that the demo runs.
OURS = "ffjord-ffjord"


@dataclass(frozen=True)
class Row:
    """A row of the table: its name (also its folder's) and the recipe that it trains."""

    name: str
    recipe: str


ROWS: tuple[Row, ...] = (
    Row("glow-glow", "table1-glow-glow"),
    Row("glow-gmm", "table1-glow-gmm"),
    Row("ffjord-glow", "table1-ffjord-glow"),
    Row("ffjord-gmm", "table1-ffjord-gmm"),
    Row("glow-ffjord", "table1-glow-ffjord"),
    Row(OURS, "toy"),
)


@dataclass(frozen=True)
class FitTask:
    """One fit and where its record goes."""

    row: str
    recipe: Recipe
    data: str
    seed: int
    folder: Path

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return self.folder / self.row / f"{self.data}-{self.seed}.json"

    @property
    def model_path(self) -> Path | None:
        """Where the model goes; the figures show the first seed's."""
        return self.record_path.with_suffix(".safetensors") if self.seed == 0 else None

    def is_done(self) -> bool:
        """Return whether a record of this very recipe is there, and the model if it is to be kept."""
        if not self.record_path.is_file() or (self.model_path is not None and not self.model_path.is_file()):
            return False
        return record_is_of(json.loads(self.record_path.read_text(encoding="utf-8")), self.recipe)


def record_is_of(record: dict[str, Any], recipe: Recipe) -> bool:
    """Return whether a record's model and training are a recipe's; names and descriptions may differ."""
    try:
        recorded = Recipe.model_validate(record["recipe"])  # fills in keys that are newer than the record
    except ValueError:
        return False
    return (recorded.model, recorded.training) == (recipe.model, recipe.training)


def run_fit(task: FitTask, report: Report) -> None:
    """Fit, evaluate and write the model (first seed) and the record; the record comes last and says all is there."""
    split = load(task.data, LABELS, task.seed)
    fitted, trained = fit_split(task.recipe, split, report)
    record = record_of(NAME, fitted, trained, split)
    task.record_path.parent.mkdir(parents=True, exist_ok=True)
    if task.model_path is not None:
        trained.save(task.model_path)
    write_record(task.record_path, record)


def plan(options: Options, rows: Sequence[Row] = ROWS) -> list[FitTask]:
    """Return all fits that were asked for, seed by seed, so that an early stop leaves all rows with as many seeds."""
    chosen = choose("recipe", [row.name for row in rows], options.recipes)
    recipes = {row.name: load_recipe(row.recipe) for row in rows if row.name in chosen}
    data = choose("data set", DATA, options.data)
    folder = options.out / NAME
    return [
        FitTask(name, recipe, data_name, seed, folder)
        for seed in range(options.seeds)
        for name, recipe in recipes.items()
        for data_name in data
    ]


def train(tasks: Sequence[FitTask], jobs: int, console: Console) -> list[str]:
    """Run the fits that have no record yet and return what went wrong, a sentence for each fit that failed."""
    todo = [task for task in tasks if not task.is_done()]
    if len(todo) < len(tasks):
        console.print(f"{len(tasks) - len(todo)} of {len(tasks)} fits have their record already.")
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
        bar = progress.add_task(NAME, total=len(todo))

        def on_progress(index: int, share: float) -> None:
            shares[index] = max(shares[index], share)
            progress.update(bar, completed=sum(shares))

        for index, outcome in run_tasks(run_fit, todo, jobs, on_progress):
            on_progress(index, 1.0)
            name = f"{todo[index].row} on {todo[index].data}, seed {todo[index].seed}"
            if isinstance(outcome, Exception):
                failures.append(f"{name}: {outcome}")
                console.print(f"failed: {failures[-1]}", style="red")
            elif not console.is_terminal:
                console.print(f"{sum(share == 1 for share in shares)} of {len(todo)} fits: {name}")
    return failures


def run(options: Options, rows: Sequence[Row] = ROWS) -> dict[str, Any]:
    """Train what has no record yet, then render the table and the figures from the records."""
    from scnf.experiments.table1_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    console = Console(stderr=True, highlight=False)
    failures = [] if options.render_only else train(plan(options, rows), options.jobs, console)
    # A trial into another folder must not change what the README says of the results.
    readme = Path("README.md") if options.out.resolve() == Path("results").resolve() else None
    with console.status("Drawing …"), one_thread():
        summary = render(options.out / NAME, rows, readme)
    return {**summary, "failures": failures}
