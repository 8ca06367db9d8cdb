"""Foreign images and selective prediction as a page and a figure, made from records alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from scnf.evaluation.plots import new_figure, style_axes, to_png
from scnf.evaluation.tables import markdown_table
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments.given_model import read_all
from scnf.experiments.ood import NAME
from scnf.experiments.rendering import Rendered, write

FIGURE = "ood.png"
_TELLS = 0.6  # an AUROC from which on a score is said to tell images apart
_HEADER = [
    "model of", "foreign images", "AUROC of log p(x)", "AUROC of typicality", "error, %", "of 90 %", "of 50 %"
]  # fmt: skip
_KEYS = {"auroc_density": 3, "auroc_typicality": 3, "error": 2, "error_at_90": 2, "error_at_50": 2}


def summarize(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the measures of each model."""
    keys = ("other", "rows", "errors", "coverages")
    rows = [
        {
            "data": record["data"]["name"],
            "labels": record["data"].get("labels"),
            "recipe": record["recipe"]["name"],
            **{key: record[key] for key in keys},
            **record["metrics"],
        }
        for record in records
    ]
    return {"experiment": NAME, "rows": rows}


def verdict(summary: dict[str, Any]) -> str:
    """Return what the scores are good for, in one line: the paper claims nothing."""
    parts = []
    for row in summary["rows"]:
        density, typical = row["auroc_density"], row["auroc_typicality"]
        if max(density, typical) < _TELLS:
            told = f"neither score tells {row['other']} apart (AUROC {max(density, typical):.3f} at best)"
        else:
            score = "log p(x)" if density >= typical else "typicality"
            told = f"{score} tells {row['other']} apart best (AUROC {max(density, typical):.3f})"
        fooled = f"; log p(x) takes {row['other']} for the more usual" if density < 0.5 else ""
        if row["error_at_90"] < row["error"]:
            effect = f"lowers the error from {row['error']:.2f} to {row['error_at_90']:.2f} %"
        else:
            effect = f"does not lower the error ({row['error']:.2f} %, then {row['error_at_90']:.2f} %)"
        parts.append(f"**{row['data']}**: {told}{fooled}; leaving out the tenth it is least sure of {effect}.")
    return " ".join(parts)


def _rows(summary: dict[str, Any]) -> list[list[str]]:
    return [
        [row["data"], row["other"], *(f"{row[key]:.{digits}f}" for key, digits in _KEYS.items())]
        for row in summary["rows"]
    ]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the table, the figure, and what the scores are."""
    sizes = "; ".join(
        f"{row['data']}: recipe `{row['recipe']}`, {row['labels']} labels, {row['rows']['inside']:,} test images of "
        f"either kind, entropy from {row['rows']['training']:,} training images"
        for row in summary["rows"]
    )
    return "\n".join(
        [
            "# Images of another kind, and answers that a model is unsure of",
            "",
            "A model of MNIST sees Fashion-MNIST's test images, and the reverse. The AUROC is how often a score ranks",
            "an image of the model's own kind above a foreign one: 0.5 is chance, and below it the score is fooled.",
            f"From {_TELLS} on a score is said to tell the two apart.",
            "Typicality is −|log p(x) + H|, with −H the mean log-density of training images: an image that is much too",
            "dense is as unusual as one that is much too rare. The last columns are the errors on all test images and",
            "on those that the model is surest of (by the largest posterior probability).",
            "",
            markdown_table(_HEADER, _rows(summary), left=2),
            "",
            verdict(summary),
            "",
            f"![scores of both kinds of images, and error against coverage]({FIGURE})",
            "",
            f"Models and rows: {sizes}.",
            "",
            f"Made by `scnf reproduce {NAME}` from the records beside this page; `--render` makes it again.",
            "",
        ]
    )


def figure(records: Sequence[dict[str, Any]], theme: Theme = LIGHT) -> Figure:
    """Return a row for each model: bits/dim of its own and of foreign images, and error against coverage."""
    drawn = new_figure(8.4, 2.9 * len(records), theme)
    for (scores, coverage), record in zip(drawn.subplots(len(records), 2, squeeze=False), records, strict=True):
        name, histogram = record["data"]["name"], record["histogram"]
        style_axes(scores, "bits/dim of a test image", "share of images", theme)
        for colour, key, label in zip(theme.classes, ("inside", "outside"), (name, record["other"]), strict=False):
            scores.stairs(histogram[key], histogram["edges"], fill=True, alpha=0.5, color=colour, label=label)
        scores.axvline(record["entropy"], color=theme.ink, linewidth=1, linestyle=":", label="training mean")
        scores.margins(y=0.3)  # room for the legend above what it explains
        scores.legend(frameon=False, labelcolor=theme.ink, fontsize=8, loc="upper center", ncols=3)
        style_axes(coverage, "coverage: share of test images answered", "error, %", theme)
        coverage.plot(record["coverages"], record["errors"], color=theme.classes[0], marker="o", markersize=3)
        coverage.set_ylim(bottom=0)
        for ax in (scores, coverage):
            ax.set_title(f"model of {name}", fontsize=11, color=theme.ink)
    return drawn


def rendered(records: Sequence[dict[str, Any]]) -> Rendered:
    """Return what the records say."""
    summary = summarize(records)
    return Rendered(summary, page(summary), verdict(summary), _HEADER, _rows(summary), left=2)


def render(folder: Path) -> dict[str, Any]:
    """Write table.md, table.json and the figure, and return the summary."""
    records = read_all(folder)
    path = folder / FIGURE
    path.write_bytes(to_png(figure(records), dpi=110))
    return write(rendered(records), folder, [path])
