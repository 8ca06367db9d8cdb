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
from scnf.experiments.summary import in_time, records_of, study_summary, time_limit
from scnf.experiments.table3 import STUDY
from scnf.recipes import Recipe

METRICS = ("error", "train_error", "bits_per_dim")
# Test and train error, Table 3 of the paper, whose first row says 48.
PAPER = {"49": (2.6, 0.0), "98": (2.0, 0.0), "196": (1.9, 0.0), "392": (61.4, 0.0), "784": (91.1, 0.0)}
FIGURE = "reconstructions.png"
_LARGE = ("392", "784")
# Percent. A collapse is a test error beyond the first at a train error below the second: the model has learned its
# labelled images and nothing else. What has not learned these may have had too little time.
_COLLAPSED, _LEARNED = 50.0, 5.0
_SERVES = 10.0  # percent of test errors, or fewer
_HEADER = ["components of z_f", "test error, %", "paper", "train error, %", "paper", "bits/dim", "splits"]


def summarize(folder: Path, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return mean and standard deviation over the splits, a row for each size of z_f."""
    summary = study_summary(STUDY, folder, recipes, METRICS)
    return {**summary, "rows": [{**row, "paper": PAPER.get(row["name"])} for row in summary["rows"]]}


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the paper's claim holds, in one line."""
    test = {row["name"]: row["error"]["mean"] for row in summary["rows"]}
    train = {row["name"]: row["train_error"]["mean"] for row in summary["rows"]}
    if not set(PAPER) <= set(test):
        return "Not all sizes of z_f that the claim is about are recorded yet."
    worst_small = max(test[name] for name in PAPER if name not in _LARGE)
    serves = worst_small <= _SERVES
    learned = [name for name in _LARGE if train[name] < _LEARNED]
    collapsed = [name for name in learned if test[name] > _COLLAPSED]
    if serves and len(collapsed) == len(_LARGE):
        word = "holds"
    elif collapsed:
        word = "holds in part"
    else:
        word = "does not hold" if learned else "cannot be judged"
    told = []
    for name in _LARGE:
        state = "too little time to tell" if name not in learned else "a collapse" if name in collapsed else "none"
        told.append(f"with {name} components {test[name]:.1f} % ({train[name]:.1f} %), {state}")
    return (
        f"**The claim {word} {in_time(summary)}**: the test error (train error) is {'; '.join(told)}. A collapse is a "
        f"test error above {_COLLAPSED:.0f} % at a train error below {_LEARNED:.0f} %. With 49 to 196 components the "
        f"test error is at most {worst_small:.1f} %: they {'serve' if serves else 'do not all serve'} (up to "
        f"{_SERVES:.0f} % is taken to)."
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
    rows = [
        [*_cells(row), f"{row['parameters']:,}", f"{row['steps']:,.0f}", f"{row['cpu_seconds']:,.0f}"]
        for row in summary["rows"]
    ]
    return "\n".join(
        [
            "# Table 3: how many components z_f has",
            "",
            f"MNIST with {STUDY.labels} labels; mean ± standard deviation over the splits. All rows are the recipe",
            "`mnist-joint` with other numbers of channels that its levels keep. It is not the paper's network, which",
            "the recipes `paper-mnist-49` to `paper-mnist-784` describe. The train error is that of the labelled",
            "images. As in that recipe the labels of a graph lead for most of a run, which the paper does not have.",
            *time_limit(summary),
            "",
            markdown_table([*_HEADER, "parameters", "steps", "CPU seconds"], rows),
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
