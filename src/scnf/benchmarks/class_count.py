"""What log p(x, y) costs for all K labels, against K passes of the whole model."""

import statistics
from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from scnf.benchmarks.timing import interleaved
from scnf.benchmarks.workload import LEVELS, SHAPE
from scnf.evaluation.plots import new_figure
from scnf.evaluation.themes import LIGHT, Theme
from scnf.recipes import load_recipe
from scnf.recipes.build import build_model


def measure(
    recipe_name: str, counts: Sequence[int], batch_size: int, blocks: int, block_seconds: float
) -> list[dict[str, Any]]:
    """Return for every number of classes the milliseconds of ``log_joint`` and of one pass that knows the label."""
    spec = load_recipe(recipe_name, {"model.label_prior": "uniform"}).model
    x = torch.rand(batch_size, *SHAPE) * (LEVELS - 1) / LEVELS
    rows = []
    for classes in counts:
        torch.manual_seed(0)
        model = build_model(spec, SHAPE, classes).eval()
        y = torch.arange(batch_size) % classes

        @torch.inference_mode()
        def all_labels(model: Any = model) -> Tensor:
            return model.log_joint(x)

        @torch.inference_mode()
        def one_label(model: Any = model, y: Tensor = y) -> Tensor:
            return model.log_prob(x, y)

        times = interleaved({"all": all_labels, "one": one_label}, blocks, block_seconds)
        medians = {name: 1000 * statistics.median(values) for name, values in times.items()}
        rows.append(
            {
                "classes": classes,
                "log_joint_ms": medians["all"],
                "one_pass_ms": medians["one"],
                "all_passes_ms": classes * medians["one"],
            }
        )
    return rows


def figure(rows: Sequence[dict[str, Any]], title: str, theme: Theme = LIGHT) -> Figure:
    """Return a plot of both costs against the number of classes."""
    picture = new_figure(4.6, 3.2, theme)
    axes = picture.subplots()
    classes = [row["classes"] for row in rows]
    lines = [("all_passes_ms", "K passes of the whole model (K × one)", "s"), ("log_joint_ms", "log_joint", "o")]
    for (key, name, marker), colour in zip(lines, reversed(theme.classes[:2]), strict=True):
        axes.plot(classes, [row[key] for row in rows], marker=marker, color=colour, label=name)
    axes.set(xscale="log", yscale="log", xlabel="classes K", ylabel="milliseconds a batch", facecolor=theme.background)
    axes.set_title(title, color=theme.ink, fontsize=10)
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=8)
    axes.tick_params(colors=theme.ink, which="both")
    for spine in axes.spines.values():
        spine.set_color(theme.quiet)
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    return picture
