"""The ablation on Fashion-MNIST as a page, made from its run records alone."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scnf.evaluation.tables import markdown_table
from scnf.experiments.complex_data import STUDY
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.summary import metric_cells, study_summary
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
    "graph": "+ labels spread along a graph (`mnist`)",
    "graph-consistency": "+ labels spread along a graph, + consistency (`mnist-consistency`)",
    "gmm": "one Gaussian per class, likelihood alone",
    "gmm-clf": "one Gaussian per class, + L_clf",
}
CURES = {
    "clf": "L_clf",
    "consistency": "consistency",
    "graph": "the graph",
    "graph-consistency": "the graph with consistency",
}
_CLASSES = 10
_IGNORED = 50.0  # percent of codes that a swap changes: below, the label is called ignored
_HEADER = ["model", *(title for title, _ in METRICS.values()), "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each model."""
    return study_summary(STUDY, folder, recipes, METRICS)


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the flow ignores the label without a cure, and which cure lowers the error, in one line."""
    rows = {row["name"]: row for row in summary["rows"]}
    if "plain" not in rows:
        return "The model by likelihood alone, which the claim is about, is not recorded yet."
    plain = rows["plain"]
    ignored = plain["swap_changed"]["mean"] < _IGNORED
    before = plain["error"]["mean"]
    cures = [
        f"{title} {'lowers' if rows[name]['error']['mean'] < before else 'does not lower'} it "
        f"({rows[name]['error']['mean']:.1f} %)"
        for name, title in CURES.items()
        if name in rows
    ]
    told = "".join(f"; {cure}" for cure in cures)
    return (
        f"**Without L_clf the flow {'ignores' if ignored else 'does not ignore'} the label here**: swapping it changes "
        f"the class of {plain['swap_changed']['mean']:.1f} % of the codes, and the true label tells "
        f"{plain['label_nats']['mean']:.2f} of at most {math.log(_CLASSES):.2f} nats. "
        f"The error is {before:.1f} %{told}."
    )


def _cells(row: dict[str, Any]) -> list[str]:
    return [TITLES[row["name"]], *metric_cells(row, METRICS), str(row["splits"])]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the table, what its columns mean, and how it was made."""
    limit = "" if summary["minutes"] is None else f" Every fit had {summary['minutes']:g} minutes of one core."
    rows = [[*_cells(row), f"{row['parameters']:,}", f"{row['steps']:,.0f}"] for row in summary["rows"]]
    return "\n".join(
        [
            "# Does a flow ignore the label of more complex images?",
            "",
            f"Fashion-MNIST with {STUDY.labels} labels; mean ± standard deviation over the splits.{limit} All rows are",
            "the recipe `mnist`, with and without what may make the model heed the label; the paper has no numbers.",
            "",
            "“The label tells” is the mean of log p(x | y) − log p(x) with the true label y, below zero where the",
            "model is surely wrong. The gap is the mean of log p(x | y) − log p(x | k) over the other labels k. A swap",
            "encodes a test image by its label and decodes z_h with the next one; a code is changed if the model then",
            f"takes it for another class. Below {_IGNORED:.0f} % the label is called ignored.",
            "",
            markdown_table([*_HEADER, "parameters", "steps"], rows),
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
