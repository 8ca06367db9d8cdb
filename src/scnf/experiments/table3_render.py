"""Table 3 as a page and a figure, made from its run records alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scnf.evaluation.packed_images import unpack_images
from scnf.evaluation.plots import draw_images, new_figure, to_png
from scnf.evaluation.tables import markdown_table, mean_std
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.summary import records_of, study_summary
from scnf.experiments.table3 import STUDY
from scnf.recipes import Recipe

METRICS = ("error", "train_error", "bits_per_dim")
# Test and train error, Table 3 of the paper, whose first row says 48.
PAPER = {"49": (2.6, 0.0), "98": (2.0, 0.0), "196": (1.9, 0.0), "392": (61.4, 0.0), "784": (91.1, 0.0)}
FIGURE = "reconstructions.png"
_LARGE = ("392", "784")
_COLLAPSED = 50.0  # percent: what the paper shows is beyond
_HEADER = ["components of z_f", "test error, %", "paper", "train error, %", "paper", "bits/dim", "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each size of z_f."""
    summary = study_summary(STUDY, folder, recipes, METRICS)
    return {**summary, "rows": [{**row, "paper": PAPER.get(row["name"])} for row in summary["rows"]]}


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the paper's claim holds, in one line."""
    errors = {row["name"]: row["error"]["mean"] for row in summary["rows"]}
    small = [error for name, error in errors.items() if name not in _LARGE]
    if not small or not set(_LARGE) <= set(errors):
        return "Not all sizes of z_f that the claim is about are recorded yet."
    collapsed = [name for name in _LARGE if errors[name] > _COLLAPSED]
    word = {0: "does not hold", 1: "holds in part", 2: "holds"}[len(collapsed)]
    told = " and ".join(f"{errors[name]:.1f} % with {name}" for name in _LARGE)
    return (
        f"**The claim {word} here**: the test error is {told} components, {min(small):.1f} % with the best of fewer; "
        f"a collapse is an error above {_COLLAPSED:.0f} %."
    )


def _cells(row: dict[str, Any]) -> list[str]:
    test, train = (f"{value:g}" for value in row["paper"]) if row["paper"] else ("–", "–")
    return [
        row["name"],
        mean_std(row["error"]["values"]),
        test,
        mean_std(row["train_error"]["values"]),
        train,
        mean_std(row["bits_per_dim"]["values"], 3),
        str(row["splits"]),
    ]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the table beside the paper's, how it was made, and the figure."""
    rows = [[*_cells(row), f"{row['parameters']:,}", f"{row['steps']:,.0f}"] for row in summary["rows"]]
    limit = "" if summary["minutes"] is None else f" Every fit had {summary['minutes']:g} minutes of one core."
    return "\n".join(
        [
            "# Table 3: how many components z_f has",
            "",
            f"MNIST with {STUDY.labels} labels; mean ± standard deviation over the splits.{limit} All rows are the",
            "recipe `mnist`, which is made for this time, with other numbers of channels that its levels keep. It is",
            "not the paper's network, which the recipes `paper-mnist-49` to `paper-mnist-784` describe. The train",
            "error is that of the labelled images. As in that recipe the labels of a graph lead for most of a run,",
            "which the paper does not have.",
            "",
            markdown_table([*_HEADER, "parameters", "steps"], rows),
            "",
            verdict(summary),
            "",
            f"![images from their z_f alone]({FIGURE})",
            "",
            "A test image of each class, and below what is left of it in z_f: the same image with z_aux set to zero.",
            "First split.",
            "",
            "Made by `scnf reproduce table3` from the run records beside this page; `--render` makes it again.",
            "",
        ]
    )


def figure(images: np.ndarray, from_z_f: Mapping[str, np.ndarray], theme: Theme = LIGHT) -> Figure:
    """Return images ``[N, H, W]`` above their reconstructions, a line for each size of z_f."""
    lines = np.concatenate([images, *from_z_f.values()]) / 255
    drawn = new_figure(0.62 * len(images) + 0.7, 0.62 * (1 + len(from_z_f)), theme, pad=0.02)
    draw_images(drawn.subplots(), lines, len(images), theme, ("image", *from_z_f))
    return drawn


def rendered(folder: Path, recipes: Mapping[str, Recipe]) -> Rendered:
    """Return what the records say."""
    summary = summarize(folder, recipes)
    return Rendered(summary, page(summary), verdict(summary), _HEADER, [_cells(row) for row in summary["rows"]])


def render(folder: Path, recipes: Mapping[str, Recipe], readme: Path | None = None) -> dict[str, Any]:
    """Write table.md, table.json and the figure, bring the README up to date, and return the summary."""
    first = {name: of_row[0] for name, recipe in recipes.items() if (of_row := records_of(folder / name, recipe))}
    figures = []
    if first:
        figures.append(folder / FIGURE)
        images = unpack_images(next(iter(first.values()))["images"])
        lines = {name: unpack_images(record["reconstructions"]) for name, record in first.items()}
        figures[0].write_bytes(to_png(figure(images, lines)))
    return write(rendered(folder, recipes), folder, figures, readme)
