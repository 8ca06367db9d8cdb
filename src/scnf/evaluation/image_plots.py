"""Plots of runs on images: how they came along, and what their models draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from scnf.evaluation.plots import draw_images, leave_out_peaks, new_figure, single, style_axes
from scnf.evaluation.themes import LIGHT, Theme
from scnf.modelfile import TrainedModel

_PANEL = (3.6, 3.0)  # inches
_SAMPLES_A_CLASS = 10
_SIDE = 5.0  # inches


@dataclass(frozen=True)
class Curve:
    """One run: minutes and loss, and test metrics with their minutes."""

    loss: Sequence[Sequence[float]]
    test: Sequence[Mapping[str, float]]


def run_curves_figure(curves: Mapping[str, Sequence[Curve]], theme: Theme = LIGHT) -> Figure:
    """Return loss, test bits/dim and test error against minutes, a colour for each name and a line for each run."""
    width, height = _PANEL
    figure = new_figure(3 * width, height, theme)
    axes = figure.subplots(1, 3)
    panels = [("loss, nats", None), ("test bits/dim", "bits_per_dim"), ("test error, %", "error")]
    for ax, (title, metric) in zip(axes, panels, strict=True):
        style_axes(ax, "minutes", title, theme)
        for k, (name, runs) in enumerate(curves.items()):
            for i, run in enumerate(runs):
                points = run.loss if metric is None else [(point["minutes"], point[metric]) for point in run.test]
                label = name if i == 0 else None
                ax.plot(*zip(*points, strict=True), color=theme.classes[k], linewidth=1.3, alpha=0.8, label=label)
        leave_out_peaks(ax)
    axes[0].legend(frameon=False, labelcolor=theme.ink, fontsize=9)
    return figure


def sample_figure(trained: TrainedModel, theme: Theme = LIGHT) -> Figure:
    """Return samples of an image model, a row for each class; images in one column share their noise."""
    assert trained.levels is not None
    images = np.concatenate([trained.sample(_SAMPLES_A_CLASS, name)[0] for name in trained.classes])
    shades = images[:, 0] / (trained.levels - 1)
    return single(lambda ax: draw_images(ax, shades, _SAMPLES_A_CLASS, theme, trained.classes), theme, _SIDE)
