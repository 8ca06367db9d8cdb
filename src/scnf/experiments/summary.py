"""What records say together: means over splits, beside the paper's, as cells of a table."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scnf.evaluation.records import read_record
from scnf.evaluation.tables import mean_std
from scnf.experiments.study import Study, minutes_of, record_is_of
from scnf.modelfile import TrainedModel, load
from scnf.recipes import Recipe


def records_of(folder: Path, recipe: Recipe, any_time: bool = False) -> list[dict[str, Any]]:
    """Return the records in a folder that are of a recipe, and of its time or any, in the order of their file names."""
    records = [read_record(path) for path in sorted(folder.glob("*.json"))]
    # Records of an older recipe wait to be replaced; a mean over two recipes would be of neither.
    return [record for record in records if record_is_of(record, recipe, any_time)]


def longest(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of the longest time: those of a shorter one wait to be replaced."""
    most = max((minutes_of(record) or 0.0 for record in records), default=0.0)
    return [record for record in records if (minutes_of(record) or 0.0) == most]


def model_of(path: Path, recipe: Recipe, any_time: bool = False) -> TrainedModel | None:
    """Return the model in a file if there is one and it is of a recipe, and of its time or any."""
    if not path.is_file():
        return None
    trained = load(path)
    record = {"recipe": trained.recipe.model_dump(mode="json")}
    return trained if record_is_of(record, recipe, any_time) else None


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return values with their mean and standard deviation (n − 1), None where there are too few.

    Example:
        >>> spread([1.0, 3.0])["mean"], spread([1.0])["std"]
        (2.0, None)
    """
    return {
        "mean": statistics.fmean(values) if values else None,
        "std": statistics.stdev(values) if len(values) > 1 else None,
        "values": list(values),
    }


def metric_spread(records: Sequence[dict[str, Any]], metric: str) -> dict[str, Any]:
    """Return the spread of a metric over records."""
    return spread([record["metrics"][metric] for record in records])


def fits_summary(records: Sequence[dict[str, Any]], metrics: Iterable[str]) -> dict[str, Any]:
    """Return the spread of metrics over the fits of a row, and what these took."""
    return {
        "parameters": records[0]["parameters"],
        "steps": statistics.fmean(sum(record["steps"]) for record in records),
        "minutes": statistics.fmean(record["minutes"] for record in records),
        # A limit is of the clock; who shares the core decides how much of it a fit gets.
        "cpu_seconds": statistics.fmean(record["cpu_seconds"] for record in records),
        "splits": len(records),
        **{metric: metric_spread(records, metric) for metric in metrics},
    }


def metric_cells(row: Mapping[str, Any], metrics: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return a row's metrics as cells of a table; for each metric there is its title and its number of digits."""
    return [mean_std(row[metric]["values"], digits) for metric, (_, digits) in metrics.items()]


def study_summary(study: Study, folder: Path, recipes: Mapping[str, Recipe], metrics: Iterable[str]) -> dict[str, Any]:
    """Return a row for each recipe of a study that has records, and the minutes if all fits have the same."""
    records = {name: records_of(folder / name, recipe) for name, recipe in recipes.items()}
    limits = {recipe.training.max_minutes for recipe in recipes.values()}
    return {
        "experiment": study.name,
        "labels": study.labels,
        "minutes": limits.pop() if len(limits) == 1 else None,
        "rows": [{"name": name, **fits_summary(of_row, metrics)} for name, of_row in records.items() if of_row],
    }


def time_limit(summary: dict[str, Any]) -> list[str]:
    """Return the lines of a page that say what time a fit had; none where it had its steps."""
    if summary["minutes"] is None:
        return []
    return [
        f"Every fit had {summary['minutes']:g} minutes by the clock, on a core that other work may share. The steps",
        "and the CPU seconds tell what it got; these are of the whole fit, its start and its end included.",
    ]


def in_time(summary: dict[str, Any]) -> str:
    """Return in what time a verdict is true."""
    return "here" if summary["minutes"] is None else f"in {summary['minutes']:g} minutes a fit"


def count_matched(pairs: Iterable[tuple[float, float]], digits: int = 2) -> tuple[int, int]:
    """Return how many of our means are no worse than the paper's, compared as our tables print them, and how many
    there are.
    """
    matched = [round(ours, digits) <= paper for ours, paper in pairs]
    return sum(matched), len(matched)


def shown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a table for the terminal, without the marks that markdown has."""

    def plain(cell: str) -> str:
        return cell.replace("*", "").replace("`", "")

    return {"columns": [plain(name) for name in columns], "rows": [[plain(cell) for cell in row] for row in rows]}
