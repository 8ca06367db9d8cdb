"""The ablation of the recipes for MNIST as a page, made from its run records alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scnf.evaluation.tables import markdown_table
from scnf.experiments.ablation import STUDY, WITHOUT
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.study import minutes_of
from scnf.experiments.summary import fits_summary, longest, metric_cells, records_of
from scnf.recipes import Recipe

METRICS = {"error": ("error, %", 2), "bits_per_dim": ("bits/dim", 3)}
TITLES = {
    "mnist": "`mnist` as it is",
    "together": "f and h together to the end, no h alone",
    "light-labels": "labelled rows an eighth of the batch and 2 % of the objective, not a quarter of both",
    "mnist-joint": "`mnist-joint` as it is",
    "no-graph": "no graph: equation 1 from the first step on",
    "no-covariances": "no covariance for each class before h's steps",
    "gaussians": "one Gaussian per class as h, no steps",
    "adam": "Adam for all, no Muon",
    "residual-nets": "residual nets in half as many steps, no Glow nets",
    "plain-logit": "plain logit, no Gaussian background",
    "no-split-prior": "no Gaussian for what is factored out, given what is kept",
    "larger-z-f": "z_f of 196 components, not 98",
    "heavy-labels": "labelled rows a quarter of batch and objective",
    "mnist-graph": "`mnist-graph` as it is",
    "graph-together": "f and h together to the end",
    "graph-narrow": "nets of 48 at 7×7, not 128",
    "graph-shallow": "one hidden layer in h's nets, not two",
    "mnist-consistency": "`mnist-consistency` as it is",
    "consistency-no-graph": "no graph: the posterior alone teaches",
    "consistency-graph-alone": "the graph alone teaches to the end",
    "consistency-unaltered": "copies that are not altered",
    "consistency-light": "a weight of 100 throughout",
    "consistency-heavy": "a weight of 2,000 throughout",
    "consistency-no-limit": "cross-entropy without a limit",
    "consistency-no-decay": "no decay of the weights",
    "consistency-high-clip": "gradients clipped at 50,000, not 8,000",
    "consistency-cold": "a temperature of 4, not 12",
}
_HEADER = ["recipe", *(title for title, _ in METRICS.values()), "minutes", "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each recipe."""
    records = {name: longest(records_of(folder / name, recipe, any_time=True)) for name, recipe in recipes.items()}
    rows = [
        {"name": name, "limit": minutes_of(of_row[0]), **fits_summary(of_row, METRICS)}
        for name, of_row in records.items()
        if of_row
    ]
    return {"experiment": STUDY.name, "labels": STUDY.labels, "rows": rows}


def verdict(summary: dict[str, Any]) -> str:
    """Return which ingredient of each recipe matters most for the error and which for bits/dim."""
    rows = {row["name"]: row for row in summary["rows"]}
    told = [text for recipe in WITHOUT if (text := _verdict_on(recipe, rows))]
    if not told:
        return "No recipe is recorded both as it is and without an ingredient yet."
    if min(row["splits"] for row in rows.values()) == 1:
        told.append("There are rows of one split alone: small changes may be chance.")
    return " ".join(told)


def _verdict_on(recipe: str, rows: Mapping[str, dict[str, Any]]) -> str | None:
    whole = rows.get(recipe)
    if whole is None:
        return None
    others = {name: rows[name] for name in WITHOUT[recipe] if name in rows and name != recipe}
    others = {name: row for name, row in others.items() if row["limit"] == whole["limit"]}
    if not others:
        return None
    told = []
    for metric, (title, digits) in METRICS.items():
        before = whole[metric]["mean"]
        changes = {name: row[metric]["mean"] - before for name, row in others.items()}
        name = max(changes, key=lambda name: abs(changes[name]))
        way = "up" if changes[name] > 0 else "down"
        change = f"{way} from {before:.{digits}f} to {others[name][metric]['mean']:.{digits}f}"
        told.append(f"**{title.split(',')[0]}** changes most with “{TITLES[name]}”, {change}")
    return f"`{recipe}`: {'; '.join(told)}."


def _cells(row: dict[str, Any]) -> list[str]:
    return [TITLES[row["name"]], *metric_cells(row, METRICS), f"{row['limit']:g}", str(row["splits"])]


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
            f"MNIST with {STUDY.labels} labels, the recipes for it without one ingredient at a time; mean ± standard",
            "deviation over the splits. Minutes are by the clock, on a core that other work may share. The steps and",
            "the CPU seconds tell what a fit got; these are of the whole fit, its start and its end included. Such a",
            "time is a small part of what the recipes are made for: it shows directions, not what a long run ends at.",
            "Compare rows with that of their own recipe as it is: the records tell the machine and the commit of each,",
            "and the recipes were not all run on the same.",
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
