"""The ablation on Fashion-MNIST as a page, made from its run records alone."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scnf.evaluation.tables import markdown_table
from scnf.experiments.complex_data import STUDY
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.summary import metric_cells, study_summary, time_limit
from scnf.recipes import Recipe

# Metrics with their column and digits.
METRICS = {
    "error": ("error, %", 2),
    "bits_per_dim": ("bits/dim", 3),
    "label_nats": ("the label tells, nats", 2),
    "label_gap": ("gap to other labels, nats", 1),
    "swap_changed": ("codes changed by a swap, %", 1),
}
TITLES = {
    "plain": "likelihood alone",
    "clf": "+ L_clf",
    "consistency": "+ consistency",
    "graph": "+ labels spread along a graph (`mnist-joint`)",
    "graph-consistency": "+ labels spread along a graph, + consistency (`mnist-consistency`)",
    "gmm": "one Gaussian per class, likelihood alone",
    "gmm-clf": "one Gaussian per class, + L_clf",
}
# By likelihood alone, by the names of their rows: what to call h, and the rows that may cure it.
ALONE: dict[str, tuple[str, dict[str, str]]] = {
    "plain": (
        "the flow",
        {
            "clf": "L_clf",
            "consistency": "consistency",
            "graph": "the graph",
            "graph-consistency": "the graph with consistency",
        },
    ),
    "gmm": ("one Gaussian per class", {"gmm-clf": "L_clf"}),
}
_CLASSES = 10
_IGNORED = 50.0  # percent of codes that a swap changes: below, the label is called ignored
_MARGIN = 3.0  # points of error: where there is one split, less is no clear difference
_HEADER = ["model", *(title for title, _ in METRICS.values()), "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each model."""
    summary = study_summary(STUDY, folder, recipes, METRICS)
    return {**summary, "rows": [{**row, **_weights(recipes[row["name"]])} for row in summary["rows"]]}


def _weights(recipe: Recipe) -> dict[str, Any]:
    """Return the weight of L_clf and that of consistency, with the one it ends at if it does not stay."""
    spec = recipe.training.consistency
    weights = [] if spec is None else [spec.weight, spec.weight_end]
    return {
        "clf_weight": recipe.training.clf_weight,
        "consistency_weights": [weight for weight in weights if weight is not None],
    }


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the label is ignored without a cure, and which cure lowers the error, in one line."""
    rows = {row["name"]: row for row in summary["rows"]}
    told = [_told(rows, name) for name in ALONE if name in rows]
    if not told:
        return "The models by likelihood alone, which the claim is about, are not recorded yet."
    counts = [row["splits"] for row in summary["rows"]]
    splits = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return (
        f"{' '.join(told)} Splits: {splits}; a difference is clear beyond the larger standard deviation over the "
        f"splits, or {_MARGIN:g} points where a row has one split."
    )


def _told(rows: Mapping[str, dict[str, Any]], alone: str) -> str:
    (title, cures), row = ALONE[alone], rows[alone]
    ignored = row["swap_changed"]["mean"] < _IGNORED
    cured = [
        f"; {cure} {_effect(row['error'], rows[name]['error'])} ({rows[name]['error']['mean']:.1f} %)"
        for name, cure in cures.items()
        if name in rows
    ]
    return (
        f"**By likelihood alone {title} {'ignores' if ignored else 'does not ignore'} the label here**: swapping it "
        f"changes the class of {row['swap_changed']['mean']:.1f} % of the codes, and the true label tells "
        f"{row['label_nats']['mean']:.2f} of at most {math.log(_CLASSES):.2f} nats{_below(row)}. "
        f"The error is {row['error']['mean']:.1f} %{''.join(cured)}."
    )


def _below(row: Mapping[str, Any]) -> str:
    return " (below 0 it is sure of wrong labels)" if row["label_nats"]["mean"] < 0 else ""


def _effect(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return what a cure does to the error."""
    change, spreads = after["mean"] - before["mean"], (before["std"], after["std"])
    if abs(change) <= (_MARGIN if None in spreads else max(spreads)):
        return "makes no clear difference"
    return "lowers it" if change < 0 else "raises it"


def _cells(row: dict[str, Any]) -> list[str]:
    return [TITLES[row["name"]], *metric_cells(row, METRICS), str(row["splits"])]


def _weight_cells(row: dict[str, Any]) -> list[str]:
    consistency = " → ".join(f"{weight:g}" for weight in row["consistency_weights"])
    return [f"{row['clf_weight']:g}" if row["clf_weight"] else "–", consistency or "–"]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the table, what its columns mean, and how it was made."""
    rows = [
        [
            *_cells(row),
            *_weight_cells(row),
            f"{row['parameters']:,}",
            f"{row['steps']:,.0f}",
            f"{row['cpu_seconds']:,.0f}",
        ]
        for row in summary["rows"]
    ]
    more = ["weight of L_clf", "of consistency", "parameters", "steps", "CPU seconds"]
    return "\n".join(
        [
            "# Does a flow ignore the label of more complex images?",
            "",
            f"Fashion-MNIST with {STUDY.labels} labels; mean ± standard deviation over the splits. All rows are the",
            "recipe `mnist-joint`, with and without what may make the model heed the label; the paper has no numbers.",
            *time_limit(summary),
            "",
            "“The label tells” is the mean of log p(x | y) − log p(x) with the true label y, below zero where the",
            "model is surely wrong. The gap is the mean of log p(x | y) − log p(x | k) over the other labels k. A swap",
            "encodes a test image by its label and decodes z_h with the next one; a code is changed if the model then",
            f"takes it for another class. Below {_IGNORED:.0f} % the label is called ignored. An arrow leads to the",
            "weight at the end of a run.",
            "",
            markdown_table([*_HEADER, *more], rows),
            "",
            verdict(summary),
            "",
            "Made by `scnf reproduce complex` from the run records beside this page; `--render` makes it again.",
            "",
        ]
    )


def rendered(folder: Path, recipes: Mapping[str, Recipe]) -> Rendered:
    """Return what the records say."""
    summary = summarize(folder, recipes)
    return Rendered(summary, page(summary), verdict(summary), _HEADER, [_cells(row) for row in summary["rows"]])


def render(folder: Path, recipes: Mapping[str, Recipe], readme: Path | None = None) -> dict[str, Any]:
    """Write table.md and table.json, bring the README up to date, and return the summary."""
    return write(rendered(folder, recipes), folder, block_page=readme)
