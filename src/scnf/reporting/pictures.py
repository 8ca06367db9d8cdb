"""Pictures that a page carries within itself, as data URIs."""

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scnf.evaluation.plots import to_png
from scnf.evaluation.themes import DARK, LIGHT, Theme

_DPI = 150
_BYTE = 255
_LONGEST = 14  # characters of a class in a legend


@dataclass(frozen=True)
class Picture:
    """A drawing for light pages and one for dark pages, as data URIs, with its caption."""

    title: str
    caption: str
    light: str
    dark: str


def picture(title: str, caption: str, draw: Callable[[Theme], Figure]) -> Picture:
    """Draw a figure in both themes."""
    return Picture(title, caption, _uri(to_png(draw(LIGHT), _DPI)), _uri(to_png(draw(DARK), _DPI)))


def add_class_legend(figure: Figure, classes: Sequence[str], theme: Theme, markers: Sequence[str] = ("o",)) -> None:
    """Tell the colours of classes below a figure; of more classes than there are colours nothing is told."""
    if len(classes) > len(theme.classes):
        return
    handles = [
        Line2D([], [], linestyle="", marker=markers[k % len(markers)], markersize=6, color=theme.classes[k], label=name)
        for k, name in enumerate(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in classes)
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=5, frameon=False, labelcolor=theme.ink, fontsize=9,
        handletextpad=0.2, columnspacing=0.9,
    )  # fmt: skip


def image_uri(images: np.ndarray, levels: int) -> str:
    """Return images ``[N, C, H, W]`` of whole numbers below ``levels``, side by side, as one picture."""
    from PIL import Image  # noqa: PLC0415 (slow to import)

    shades = np.rint(images.astype(np.float64) * (_BYTE / (levels - 1))).clip(0, _BYTE).astype(np.uint8)
    strip = np.concatenate(list(shades), axis=2)
    # What has neither one nor three channels is shown by the mean of them.
    pixels = np.moveaxis(strip, 0, 2) if len(strip) == 3 else strip.mean(0).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return _uri(buffer.getvalue())


def _uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
