"""Images described by where they have edges of which direction: near each other if they look alike."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

# Of smaller images the pixels themselves say as much.
SMALLEST_SIDE = 16
_DIRECTIONS = 8
_SHARPNESS = 16  # how little an edge counts for the directions beside its own
_CELLS = 8  # about so many to a side, of 4 pixels at least
_VALUES_AT_A_TIME = 1_000_000


def describe_edges(images: Tensor) -> Tensor:
    """Return the strength of the edges of each direction in each cell of images ``[N, C, H, W]``, ``[N, features]``.

    Cells overlap and have soft borders, so that a stroke that moves a little changes little. Reference: Dalal and
    Triggs, Histograms of Oriented Gradients for Human Detection (2005).
    """
    at_a_time = max(_VALUES_AT_A_TIME // images[0].numel(), 1)
    return torch.cat([_describe(some.float()).flatten(1) for some in images.split(at_a_time)])


def _describe(images: Tensor) -> Tensor:
    count, channels, height, width = images.shape
    planes = F.pad(images.reshape(count * channels, 1, height, width), (1, 1, 1, 1), mode="replicate")
    sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    gradients = F.conv2d(planes, torch.stack([sobel, sobel.T])[:, None])
    angles = torch.arange(_DIRECTIONS) * (2 * math.pi / _DIRECTIONS)
    along = F.conv2d(gradients, torch.stack([angles.cos(), angles.sin()], 1)[:, :, None, None])
    strength = gradients.norm(dim=1, keepdim=True)
    edges = strength * (along / strength.clamp(min=1e-6)).clamp(0, 1) ** _SHARPNESS
    cell = max(4, round(min(height, width) / _CELLS))
    # Soft borders: a Gaussian of half a cell's width, to two cells away.
    distance = torch.arange(4 * cell) - (4 * cell - 1) / 2
    soft = (-(distance**2) / (2 * (cell / 2) ** 2)).softmax(0)
    rows = F.conv2d(edges.flatten(0, 1)[:, None], soft.view(1, 1, -1, 1), stride=(cell, 1), padding=(3 * cell // 2, 0))
    cells = F.conv2d(rows, soft.view(1, 1, 1, -1), stride=(1, cell), padding=(0, 3 * cell // 2))
    # The root: many weak edges against few strong ones.
    return cells.reshape(count, channels * _DIRECTIONS, *cells.shape[-2:]).clamp(min=0).sqrt()
