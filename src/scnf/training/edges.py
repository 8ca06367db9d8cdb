"""Images described by where they have edges of which direction: near each other if they look alike."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

# Of smaller images the pixels themselves say as much.
SMALLEST_SIDE = 4
# Images below so many pixels to a side are enlarged first, so that a cell is smaller than a stroke.
FINE_ENOUGH, _ENLARGED = 16, 4
_DIRECTIONS = 8
_SQUARINGS = 4  # the more, the less an edge counts for the directions beside its own
_VALUES_AT_A_TIME = 100_000


def describe_edges(images: Tensor, cells: int = 8, prepare: Callable[[Tensor], Tensor] = torch.Tensor.float) -> Tensor:
    """Return the strength of the edges of each direction in each cell of images ``[N, C, H, W]``, ``[N, features]``.

    There are about so many ``cells`` to a side, of 4 pixels at least. ``prepare`` makes some of the images at a time
    what is looked at.

    Cells overlap and have soft borders, so that a stroke that moves a little changes little. Reference: Dalal and
    Triggs, Histograms of Oriented Gradients for Human Detection (2005).
    """
    at_a_time = max(_VALUES_AT_A_TIME // images[0].numel(), 1)
    return torch.cat([_describe(prepare(some), cells) for some in images.split(at_a_time)])


def gradients(planes: Tensor) -> Tensor:
    """Return how planes ``[N, 1, H, W]`` change across and down, by Sobel's filters, ``[N, 2, H, W]``."""
    sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    return F.conv2d(F.pad(planes, (1, 1, 1, 1), mode="replicate"), torch.stack([sobel, sobel.T])[:, None])


def _describe(images: Tensor, cells: int) -> Tensor:
    if min(images.shape[2:]) < FINE_ENOUGH:
        images = F.interpolate(images, scale_factor=_ENLARGED, mode="bicubic")
    count, channels, height, width = images.shape
    across_and_down = gradients(images.reshape(count * channels, 1, height, width)).flatten(2)
    strength = torch.hypot(across_and_down[:, :1], across_and_down[:, 1:])
    angles = torch.arange(_DIRECTIONS) * (2 * math.pi / _DIRECTIONS)
    edges = torch.stack([angles.cos(), angles.sin()], 1) @ (across_and_down / strength.clamp(min=1e-6))
    edges = edges.clamp_(0, 1)
    for _ in range(_SQUARINGS):
        edges = edges.square_()
    cell = max(4, round(min(height, width) / cells))
    strengths = edges.mul_(strength).flatten(0, 1) @ torch.kron(_soft_cells(height, cell), _soft_cells(width, cell)).T
    # The root: many weak edges against few strong ones.
    return strengths.view(count, -1).clamp(min=0).sqrt()


def _soft_cells(length: int, cell: int) -> Tensor:
    """Return how much each pixel of a side belongs to each cell, ``[cells, length]``.

    A Gaussian of half a cell's width, to two cells away.
    """
    middles = torch.arange(cell / 2, length - cell / 2 + 1e-6, cell)
    distance = torch.arange(length) + 0.5 - middles[:, None]
    whole = torch.arange(4 * cell) + 0.5 - 2 * cell
    soft, total = ((-(d**2) / (2 * (cell / 2) ** 2)).exp() for d in (distance, whole))
    return soft.where(distance.abs() < 2 * cell, 0.0) / total.sum()
