"""Plots of two-dimensional models, of images and of training: functions that return a Figure.

Figures are made without pyplot: nothing global is set, so they can be drawn anywhere, without a display.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from scnf.data import Split
from scnf.evaluation.metrics import log_joint_of
from scnf.evaluation.themes import LIGHT, MARKERS, Theme
from scnf.model import SemiConditionalFlow

Window = tuple[float, float, float, float]  # left, right, bottom, top

# Beyond this many nats below the peak a density is drawn as if it were nothing.
DENSITY_RANGE = 10.0
_MARGIN = 0.45
_PANEL = 3.0  # inches
_GRID = 200  # points along a side


@dataclass(frozen=True)
class Panel:
    """A model of two-dimensional data, to be drawn under a title."""

    title: str
    model: SemiConditionalFlow
    split: Split


def new_figure(width: float, height: float, theme: Theme = LIGHT, pad: float = 0.06) -> Figure:
    """Return an empty figure on the theme's background with ``pad`` inches around its axes."""
    layout = ConstrainedLayoutEngine(w_pad=pad, h_pad=pad)
    figure = Figure(figsize=(width, height), facecolor=theme.background, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def to_png(figure: Figure, dpi: int = 120) -> bytes:
    """Return a figure as a PNG file, the same bytes for the same figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor=figure.get_facecolor(), metadata={"Software": None})
    return buffer.getvalue()


def single(draw: Callable[[Axes], None], theme: Theme = LIGHT, size: float = _PANEL) -> Figure:
    """Return a square figure that one drawing fills."""
    figure = new_figure(size, size, theme, pad=0.02)
    draw(figure.subplots())
    return figure


def limits(x: np.ndarray) -> Window:
    """Return left, right, bottom and top of a square window around all rows ``[N, 2]``."""
    low, high = x.min(0), x.max(0)
    centre, half = (low + high) / 2, float((high - low).max()) / 2 + _MARGIN
    return centre[0] - half, centre[0] + half, centre[1] - half, centre[1] + half


def log_joint_on_grid(model: SemiConditionalFlow, window: Window, side: int = _GRID) -> np.ndarray:
    """Return log p(x, y=k) on a square grid, rows from bottom to top: ``[side, side, K]``."""
    left, right, bottom, top = window
    columns, rows = np.meshgrid(np.linspace(left, right, side), np.linspace(bottom, top, side))
    points = torch.tensor(np.stack([columns.ravel(), rows.ravel()], axis=1), dtype=torch.float32)
    values = log_joint_of(model, points).numpy().reshape(side, side, -1)
    # Far from all data a flow may overflow; there the density is nothing.
    return np.nan_to_num(values, nan=-1e4, posinf=-1e4, neginf=-1e4)


def draw_decision(ax: Axes, log_joint: np.ndarray, split: Split, theme: Theme = LIGHT) -> None:
    """Draw class probabilities (background), decision boundary (line), unlabelled and labelled training points.

    ``log_joint`` ``[side, side, K]`` is that of a grid over the window of the split's training rows.
    """
    window = limits(split.x_train)
    posterior = np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=2, keepdims=True))
    paper = np.array(to_rgb(theme.background))
    colours = np.array([to_rgb(colour) for colour in theme.classes[: posterior.shape[2]]])
    tints = paper + theme.tint * (colours - paper)
    ax.imshow(posterior @ tints, extent=window, origin="lower", interpolation="bilinear")
    for k in range(posterior.shape[2] if posterior.shape[2] > 2 else 1):
        margin = log_joint[..., k] - np.delete(log_joint, k, axis=2).max(axis=2)
        if margin.min() < 0 < margin.max():
            lines = margin.clip(-5, 5)
            ax.contour(lines, levels=[0.0], extent=window, colors=theme.ink, linewidths=1.7, origin="lower")
    hidden = split.y_train < 0
    grey_x, grey_y = split.x_train[hidden].T
    ax.scatter(grey_x, grey_y, s=4, c=theme.unlabelled, alpha=0.75, linewidths=0)
    _scatter_classes(
        ax, split.x_train[~hidden], split.y_train[~hidden], theme, s=46, edgecolors=theme.ink, linewidths=0.9
    )
    _frame(ax, window, theme)


def draw_density(ax: Axes, log_joint: np.ndarray, window: Window, theme: Theme = LIGHT) -> Any:
    """Draw log p(x) from its peak down to ``DENSITY_RANGE`` nats below it and return the image."""
    log_prob = np.logaddexp.reduce(log_joint, axis=2)
    peak = float(log_prob.max())
    image = ax.imshow(
        log_prob, extent=window, origin="lower", cmap="viridis", vmin=peak - DENSITY_RANGE, vmax=peak,
        interpolation="bilinear",
    )  # fmt: skip
    _frame(ax, window, theme)
    return image


def draw_points(ax: Axes, x: np.ndarray, y: np.ndarray, window: Window, theme: Theme = LIGHT) -> None:
    """Draw points in the colours of their classes."""
    _scatter_classes(ax, x, y, theme, s=9, alpha=0.8, linewidths=0)
    _frame(ax, window, theme)


def draw_images(
    ax: Axes, images: np.ndarray, columns: int, theme: Theme = LIGHT, row_labels: Sequence[str] = ()
) -> None:
    """Draw images ``[N, H, W]`` with values in [0, 1] row by row as one mosaic."""
    count, height, width = images.shape
    rows = -(-count // columns)
    mosaic = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1), np.nan)
    for i, image in enumerate(images):
        top, left = 1 + (i // columns) * (height + 1), 1 + (i % columns) * (width + 1)
        mosaic[top : top + height, left : left + width] = image
    ax.imshow(mosaic, cmap=theme.paper_to_ink, vmin=0, vmax=1, interpolation="nearest")
    ax.set_facecolor(theme.quiet)
    ax.set(xticks=[], yticks=[])
    if row_labels:
        ax.set_yticks([1 + (height - 1) / 2 + i * (height + 1) for i in range(len(row_labels))], row_labels)
    ax.tick_params(length=0, labelsize=9, labelcolor=theme.ink)
    ax.spines[:].set_visible(False)


def draw_captioned_images(
    ax: Axes, images: np.ndarray, captions: Sequence[str], columns: int, theme: Theme = LIGHT
) -> None:
    """Draw images ``[N, H, W]`` with values in [0, 1] in a square, each under its own short caption."""
    _, height, width = images.shape
    step_x, step_y = width + 2.0, height + 3.5
    for i, (image, caption) in enumerate(zip(images, captions, strict=True)):
        left, top = (i % columns) * step_x, (i // columns) * step_y
        extent = (left, left + width, top + height, top)
        ax.imshow(image, cmap=theme.paper_to_ink, vmin=0, vmax=1, interpolation="nearest", extent=extent)
        ax.text(left + width / 2, top - 0.5, caption, fontsize=8, color=theme.ink, ha="center", va="bottom")
    side = columns * step_y
    centre = (columns * step_x - 2.0) / 2
    ax.set(xlim=(centre - side / 2, centre + side / 2), ylim=(side - 3.0, -3.0), aspect="equal")
    ax.set_axis_off()


def decision_figure(panels: Sequence[Panel], theme: Theme = LIGHT, columns: int = 3) -> Figure:
    """Return the figure of Appendix D: the decision boundary of every model on one data set."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    spare = rows * columns > len(panels)
    figure = new_figure(_PANEL * columns, (_PANEL + 0.3) * rows + (0 if spare else 0.4), theme)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, panel in zip(axes, panels, strict=False):
        grid = log_joint_on_grid(panel.model, limits(panel.split.x_train))
        draw_decision(ax, grid, panel.split, theme)
        ax.set_title(panel.title, fontsize=11, color=theme.ink)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    handles = _legend(panels[0].split, theme)
    style = {"frameon": False, "labelcolor": theme.ink, "fontsize": 11}
    if spare:
        axes[len(panels)].legend(handles=handles, loc="center", labelspacing=0.9, **style)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), **style)
    return figure


def density_figure(panels: Sequence[Panel], theme: Theme = LIGHT) -> Figure:
    """Return one row per model: a true sample, and the model's log-density beside it."""
    figure = new_figure(2 * _PANEL + 0.9, (_PANEL + 0.25) * len(panels), theme)
    for row, panel in zip(figure.subplots(len(panels), 2, squeeze=False), panels, strict=True):
        window = limits(panel.split.x_train)
        draw_points(row[0], panel.split.x_test, panel.split.y_test, window, theme)
        row[0].set_title(f"{panel.title}: {len(panel.split.x_test)} test points", fontsize=11, color=theme.ink)
        image = draw_density(row[1], log_joint_on_grid(panel.model, window), window, theme)
        row[1].set_title("log p(x) of the model", fontsize=11, color=theme.ink)
        bar = figure.colorbar(image, ax=row[1], shrink=0.9, extend="min", pad=0.03)
        bar.set_label("nats", color=theme.ink)
        bar.ax.tick_params(colors=theme.ink, labelsize=9)
        bar.outline.set_visible(False)
    return figure


def curve_figure(
    curves: Mapping[int, Sequence[tuple[int, float]]],
    best: int,
    theme: Theme = LIGHT,
    width: float = 5.0,
    y_title: str = "loss, nats",
) -> Figure:
    """Return the training curve: (step, value) of every restart, the one that was kept drawn strongly."""
    figure = new_figure(width, 2.9, theme)
    ax = figure.subplots()
    style_axes(ax, "step", y_title, theme)
    for restart in sorted(curves, key=lambda restart: restart == best):
        colour, width, order = (theme.classes[0], 1.8, 3) if restart == best else (theme.unlabelled, 0.9, 2)
        ax.plot(*zip(*curves[restart], strict=True), color=colour, linewidth=width, zorder=order)
    losses = np.array([loss for curve in curves.values() for _, loss in curve])
    low, high = float(losses.min()), float(np.quantile(losses, 0.98))
    pad = 0.06 * max(high - low, 1e-3)
    ax.set_ylim(low - pad, high + pad)  # the first steps' spike would flatten all that follows
    return figure


def style_axes(ax: Axes, x_title: str, y_title: str, theme: Theme = LIGHT) -> None:
    """Give the axes of a curve their titles and the theme's colours."""
    ax.set_facecolor(theme.background)
    ax.margins(x=0.01)
    ax.set_xlabel(x_title, color=theme.ink, fontsize=10)
    ax.set_ylabel(y_title, color=theme.ink, fontsize=10)
    ax.tick_params(colors=theme.ink, labelsize=9, color=theme.quiet)
    ax.grid(axis="y", color=theme.quiet, linewidth=0.6, alpha=0.7)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(theme.quiet)


def leave_out_peaks(ax: Axes) -> None:
    """Let the highest twentieth of the lines' points leave the picture: a start would flatten all that follows."""
    heights = np.concatenate([np.asarray(line.get_ydata()) for line in ax.get_lines()])
    low, high = float(heights.min()), float(np.quantile(heights, 0.95))
    pad = 0.08 * max(high - low, 1e-3)
    ax.set_ylim(low - pad, high + pad)


def _scatter_classes(ax: Axes, x: np.ndarray, y: np.ndarray, theme: Theme, **style: Any) -> None:
    # Big points get a shape as well, for readers who cannot tell the colours apart.
    shapes = MARKERS if style["s"] > 20 else ("o",) * len(MARKERS)
    for k in np.unique(y):
        ax.scatter(*x[y == k].T, color=theme.classes[k % len(theme.classes)], marker=shapes[k % len(shapes)], **style)


def _frame(ax: Axes, window: Window, theme: Theme) -> None:
    ax.set(xlim=window[:2], ylim=window[2:], xticks=[], yticks=[], aspect="equal")
    ax.set_facecolor(theme.background)
    ax.spines[:].set_color(theme.quiet)


def _legend(split: Split, theme: Theme) -> list[Line2D]:
    def point(marker: str, colour: str, size: float, edge: str, label: str) -> Line2D:
        style: dict[str, Any] = {"linestyle": "", "marker": marker, "markersize": size}
        return Line2D([], [], color=colour, markeredgecolor=edge, label=label, **style)

    labelled = [
        point(MARKERS[k], theme.classes[k], 7, theme.ink, f"labelled “{name}”") for k, name in enumerate(split.classes)
    ]
    return [
        *labelled,
        point("o", theme.unlabelled, 3, theme.unlabelled, "unlabelled"),
        Line2D([], [], color=theme.ink, linewidth=1.7, label="decision boundary"),
    ]
