"""The ablation of the recipe mnist as a page, made from its run records alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scnf.evaluation.tables import markdown_table
from scnf.experiments.ablation import STUDY
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.summary import metric_cells, study_summary, time_limit
from scnf.recipes import Recipe

METRICS = {"error": ("error, %", 2), "bits_per_dim": ("bits/dim", 3)}
TITLES = {
    "mnist": "`mnist` as it is",
    "no-graph": "no graph: equation 1 from the first step on",
    "no-covariances": "no covariance for each class before h's steps",
    "gaussians": "one Gaussian per class as h, no steps",
    "adam": "Adam for all, no Muon",
    "residual-nets": "residual nets in half as many steps, no Glow nets",
    "plain-logit": "plain logit, no Gaussian background",
    "no-split-prior": "no Gaussian for what is factored out, given what is kept",
    "larger-z-f": "z_f of 196 components, not 98",
    "heavy-labels": "labelled rows a quarter of batch and objective",
}
_HEADER = ["recipe", *(title for title, _ in METRICS.values()), "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each recipe."""
    return study_summary(STUDY, folder, recipes, METRICS)


def verdict(summary: dict[str, Any]) -> str:
    """Return which ingredient matters most for the error and which for bits/dim, in one line."""
    rows = {row["name"]: row for row in summary["rows"]}
    whole = rows.pop("mnist", None)
    if whole is None or not rows:
        return "The recipe as it is and without an ingredient are not both recorded yet."
    told = []
    for metric, (title, digits) in METRICS.items():
        before = whole[metric]["mean"]
        changes = {name: row[metric]["mean"] - before for name, row in rows.items()}
        name = max(changes, key=lambda name: abs(changes[name]))
        way = "up" if changes[name] > 0 else "down"
        change = f"{way} from {before:.{digits}f} to {rows[name][metric]['mean']:.{digits}f}"
        told.append(f"**{title.split(',')[0]}** changes most with “{TITLES[name]}”, {change}")
    alone = min(row["splits"] for row in (whole, *rows.values())) == 1
    return "; ".join(told) + (". There are rows of one split alone: small changes may be chance." if alone else ".")


def _cells(row: dict[str, Any]) -> list[str]:
    return [TITLES[row["name"]], *metric_cells(row, METRICS), str(row["splits"])]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the table and how it was made."""
    rows = [
        [*_cells(row), f"{row['parameters']:,}", f"{row['steps']:,.0f}", f"{row['cpu_seconds']:,.0f}"]
        for row in summary["rows"]
    ]
    return "\n".join(
        [
            "# What each ingredient brings",
            "",
            f"MNIST with {STUDY.labels} labels, the recipe `mnist` without one ingredient at a time; mean ± standard",
            "deviation over the splits.",
            *time_limit(summary),
            "Such a time is a small part of what the recipe is made for: it shows directions, not what a long run ends",
            "at.",
            "",
            markdown_table([*_HEADER, "parameters", "steps", "CPU seconds"], rows),
            "",
            verdict(summary),
            "",
            "Made by `scnf reproduce ablation` from the run records beside this page; `--render` makes it again.",
            "",
        ]
    )


def rendered(folder: Path, recipes: Mapping[str, Recipe]) -> Rendered:
    """Return what the records say."""
    summary = summarize(folder, recipes)
    return Rendered(summary, page(summary), verdict(summary), _HEADER, [_cells(row) for row in summary["rows"]])


def render(folder: Path, recipes: Mapping[str, Recipe], readme: Path | None = None) -> dict[str, Any]:
    """Write table.md and table.json, and return the summary."""
    return write(rendered(folder, recipes), folder, block_page=readme)
