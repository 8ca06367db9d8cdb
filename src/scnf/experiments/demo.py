"""The demo: our recipes on embedded data, beside scikit-learn's classifiers, on one page."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from scnf.baselines.sklearn import BASELINES, run_baseline
from scnf.data import load
from scnf.errors import UserError
from scnf.evaluation.records import write_record
from scnf.experiments.fitting import fit_split, record_of
from scnf.experiments.pool import Report, one_thread, run_tasks
from scnf.recipes import Recipe, load_recipe

OURS = "SCNF"
EXPERIMENT = "demo"


@dataclass(frozen=True)
class Part:
    """A data set of the demo, its number of labels and the recipe."""

    data: str
    labels: int
    recipe: str


# The longest first: it fills one worker while the other takes the rest.
PARTS = (Part("digits", 100, "digits"), Part("moons", 10, "toy"), Part("circles", 10, "toy"))
_SHOWN_ORDER = ("moons", "circles", "digits")


@dataclass(frozen=True)
class DemoTask:
    """One data set to fit and where its model and record go."""

    data: str
    labels: int
    recipe: Recipe
    seed: int
    out: Path


def run_part(task: DemoTask, report: Report) -> dict[str, Any]:
    """Fit our model and the baselines on one split; write the model and the record and return the record."""
    split = load(task.data, task.labels, task.seed)
    fitted, trained = fit_split(task.recipe, split, report)
    record = record_of(
        EXPERIMENT,
        fitted,
        trained,
        split,
        history=[vars(point) for point in fitted.history],
        baselines=[asdict(run_baseline(name, split)) for name in BASELINES],
    )
    trained.save(task.out / f"{task.data}.safetensors")
    write_record(task.out / f"{task.data}.json", record)
    return record


def run(out: Path, seed: int = 0, parts: Sequence[Part] = PARTS, jobs: int = 2) -> dict[str, Any]:
    """Fit all parts side by side, print the table, write the page, and return the results."""
    _check_folder(out)
    console = Console(stderr=True, highlight=False)
    tasks = [DemoTask(part.data, part.labels, load_recipe(part.recipe), seed, out) for part in parts]
    out.mkdir(parents=True, exist_ok=True)
    records = _fit_all(tasks, jobs, console)

    from scnf.reporting.demo import write_report  # noqa: PLC0415 (matplotlib is for this process alone)

    with console.status("Drawing the report …"), one_thread():
        page = write_report(out, records)
    results = [result_rows(record) for record in records]
    return {"report": str(page), "seed": seed, "results": {r["data"]: r for r in results}}


def _check_folder(out: Path) -> None:
    """Refuse a folder that holds anything, unless an earlier demo's record shows that it is the demo's own."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; the demo needs a folder of its own (--out)")
    if out.is_dir() and any(out.iterdir()) and not any(map(_is_demo_record, out.glob("*.json"))):
        raise UserError(f"{out} holds other things than an earlier demo; choose a new or an empty folder (--out)")


def _is_demo_record(path: Path) -> bool:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("experiment") == EXPERIMENT


def _fit_all(tasks: Sequence[DemoTask], jobs: int, console: Console) -> list[dict[str, Any]]:
    records: dict[int, dict[str, Any]] = {}
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bars = [progress.add_task(f"{task.data}, {task.labels} labels", total=1.0, start=False) for task in tasks]

        def on_progress(index: int, share: float) -> None:
            progress.start_task(bars[index])  # keeps the first start
            progress.update(bars[index], completed=share)

        for index, outcome in run_tasks(run_part, tasks, jobs, on_progress):
            if isinstance(outcome, Exception):
                raise outcome
            on_progress(index, 1.0)
            records[index] = outcome
            if not console.is_terminal:
                console.print(f"{tasks[index].data}: fitted in {outcome['seconds']:.0f} s")
    return sorted(records.values(), key=lambda record: _SHOWN_ORDER.index(record["data"]["name"]))


def result_rows(record: dict[str, Any]) -> dict[str, Any]:
    """Return what the table shows of one data set: our row first, then the baselines."""
    ours = {
        "name": OURS, "error": record["metrics"]["error"], "nll": record["metrics"]["nll"], "seconds": record["seconds"]
    }  # fmt: skip
    others = [{**baseline, "nll": None} for baseline in record["baselines"]]
    return {"data": record["data"]["name"], "labels": record["data"]["labels"], "methods": [ours, *others]}


def result_table(results: Sequence[dict[str, Any]]) -> Table:
    """Return the result table for the terminal."""
    table = Table(title="Test error on the same splits", title_justify="left")
    table.add_column("data")
    table.add_column("method")
    for column in ("error, %", "NLL, nats", "seconds"):
        table.add_column(column, justify="right")
    for result in results:
        best = min(method["error"] for method in result["methods"])
        for i, method in enumerate(result["methods"]):
            table.add_row(
                f"{result['data']}, {result['labels']} labels" if i == 0 else "",
                method["name"],
                f"{method['error']:.2f}",
                "–" if method["nll"] is None else f"{method['nll']:.3f}",
                f"{method['seconds']:.1f}",
                style="bold" if method["error"] == best else "",
            )
        table.add_section()
    return table
