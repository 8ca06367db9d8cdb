"""Style transfer and samples as a page and figures, made from records alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scnf.evaluation.packed_images import unpack_images
from scnf.evaluation.plots import draw_images, new_figure, to_png
from scnf.evaluation.tables import markdown_table
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments.appendix_a import NAME, SAMPLES
from scnf.experiments.given_model import read_all
from scnf.experiments.rendering import Rendered, write

# For the claim to hold, so many percent of decoded images must be taken for their new label, and the ink of an image
# and of what is decoded from it must be so much correlated.
_FOLLOWED, _STYLE_KEPT = 80.0, 0.5
_HEADER = ["data", "recipe", "new label, %", "old label, %", "real images, %", "ink correlation"]
_KEYS = {"followed": "{:.1f}", "kept_old": "{:.1f}", "judge_on_images": "{:.1f}", "ink_correlation": "{:.2f}"}


def summarize(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the measures of each model."""
    rows = [
        {
            "data": record["data"]["name"],
            "labels": record["data"].get("labels"),
            "recipe": record["recipe"]["name"],
            "judged": record["judged"],
            **record["metrics"],
        }
        for record in records
    ]
    return {"experiment": NAME, "rows": rows}


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the paper's claim holds, in one line."""
    lines = []
    for row in summary["rows"]:
        halves = {"class": row["followed"] >= _FOLLOWED, "style": row["ink_correlation"] >= _STYLE_KEPT}
        failing = " and ".join(name for name, holds in halves.items() if not holds)
        word = f"does not hold on {row['data']}, as to {failing}" if failing else f"holds on {row['data']}"
        lines.append(
            f"**The claim {word}**: nearest neighbours among real images take {row['followed']:.1f} % of the images "
            f"that are decoded with another label for that label, {row['kept_old']:.1f} % for their old one; their ink "
            f"and that of the image they are decoded from have a correlation of {row['ink_correlation']:.2f}."
        )
    return " ".join(lines)


def _rows(summary: dict[str, Any]) -> list[list[str]]:
    return [
        [row["data"], f"`{row['recipe']}`", *(form.format(row[key]) for key, form in _KEYS.items())]
        for row in summary["rows"]
    ]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the figures, what was measured, and how it was made."""
    first = summary["rows"][0]["judged"]
    return "\n".join(
        [
            "# Style transfer and samples",
            "",
            *(
                f"![style transfer and samples, {row['data']}]({row['data']}.png)\n\n"
                f"The model has the recipe `{row['recipe']}` and {row['labels']} labels of {row['data']}."
                for row in summary["rows"]
            ),
            "",
            "Left: a test image of each class, encoded by its label, and to its right z_h decoded with every label,",
            "z_aux set to zero. Right: samples of each class at several temperatures, which multiply the standard",
            "deviation of all noise; columns share theirs.",
            "",
            markdown_table(_HEADER, _rows(summary), left=2),
            "",
            f"{first['images']} test images are decoded with every label. The new and the old label are those that",
            "nearest neighbours among real training images tell, where the two differ; they know nothing of the model.",
            "“Real images” is how often they are right on the images themselves. The ink correlation is between how",
            "dark an image is and how dark what is decoded from it is, within each label: one part of style.",
            f"The claim is taken to hold if at least {_FOLLOWED:.0f} % are of their new label (class) and the ink",
            f"correlation is at least {_STYLE_KEPT} (style).",
            "",
            verdict(summary),
            "",
            f"Made by `scnf reproduce {NAME}` from the records beside this page; `--render` makes it again.",
            "",
        ]
    )


def figure(record: dict[str, Any], theme: Theme = LIGHT) -> Figure:
    """Return the grid of style transfer, images in its first column, and samples at each temperature beside it."""
    classes = record["classes"]
    images, grid = unpack_images(record["images"]), unpack_images(record["grid"])
    lines = grid.reshape(len(images), len(classes), *grid.shape[1:])
    transfer = np.concatenate([images[:, None], lines], axis=1).reshape(-1, *grid.shape[1:])
    samples = {name: unpack_images(packed) for name, packed in record["samples"].items()}
    columns = [len(classes) + 1, *([SAMPLES] * len(samples))]
    cell = 0.42
    drawn = new_figure(cell * sum(columns) + 1.4, cell * len(classes) + 0.45, theme, pad=0.03)
    axes = drawn.subplots(1, len(columns), width_ratios=columns)
    titles = ["image, then its code with every label", *(f"temperature {name}" for name in samples)]
    for ax, shown, width, title in zip(axes, [transfer, *samples.values()], columns, titles, strict=True):
        draw_images(ax, shown / 255, width, theme, classes if ax is axes[0] else ())
        ax.set_title(title, fontsize=10, color=theme.ink)
    return drawn


def rendered(records: Sequence[dict[str, Any]]) -> Rendered:
    """Return what the records say."""
    summary = summarize(records)
    return Rendered(summary, page(summary), verdict(summary), _HEADER, _rows(summary), left=2)


def render(folder: Path) -> dict[str, Any]:
    """Write table.md, table.json and the figures, and return the summary."""
    records = read_all(folder)
    figures = [folder / f"{record['data']['name']}.png" for record in records]
    for path, record in zip(figures, records, strict=True):
        path.write_bytes(to_png(figure(record), dpi=110))
    return write(rendered(records), folder, figures)
