"""How well images can be bent into each other: what nearness of strokes is, where a stroke may move a little."""

from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from scnf.training.edges import gradients
from scnf.training.upright import set_upright

# Larger images are shrunk: what moves by more than _REACH pixels has moved.
_LARGEST_SIDE = 28
_MARGIN = 2  # an upright image has little so near its border
_REACH = 2
_STRIDE, _CONTEXT = 2, 3  # pixels from a place to the next, and to where its surroundings end
_IMAGES_AT_A_TIME = 128
_PAIRS_AT_A_TIME = 128


def bending_distances(images: Tensor, pairs: Tensor) -> Tensor:
    """Return how unlike the two images of each pair remain when one is bent to be like the other, ``[pairs]``.

    Images are ``[N, C, H, W]``, pairs are ``[pairs, 2]`` of their numbers. Each place of an image finds the place of
    the other one, few pixels away, whose surroundings have edges most like its own; what is left of the difference adds
    up. The harder of the two directions counts. Images are set upright first, and their edges counted by the root of
    their strength, all images' alike.

    Reference: Keysers, Deselaers, Gollan and Ney, Deformation Models for Image Recognition (2007), the image distortion
    model.

    Example:
        >>> import torch
        >>> images = torch.zeros(3, 1, 28, 28)
        >>> images[0, 0, 6:22, 10:14] = images[1, 0, 7:23, 11:15] = images[2, 0, 12:16, 6:22] = 1.0
        >>> moved, turned = bending_distances(images, torch.tensor([[0, 1], [0, 2]])).tolist()
        >>> moved < turned / 10
        True
    """
    edges = torch.cat([_edges(some) for some in images.split(_IMAGES_AT_A_TIME)])
    down, right = (_surroundings(side) for side in edges.shape[2:])
    found = []
    for first, second in (some.T for some in pairs.split(_PAIRS_AT_A_TIME)):
        # Pairs last: then every shift is a slice with long rows.
        one, other = (edges[numbers].permute(1, 2, 3, 0).float().contiguous() for numbers in (first, second))
        found.append(torch.maximum(_bend(one, other, down, right), _bend(other, one, down, right)))
    return torch.cat(found) if found else torch.zeros(0)


def _edges(images: Tensor) -> Tensor:
    """Return the edges across and down of grey images of norm 1, ``[N, 2, H, W]``, as half as long numbers."""
    grey = set_upright(images).mean(1, keepdim=True)
    shrink = _LARGEST_SIDE / max(grey.shape[2:])
    if shrink < 1:
        sides = [max(round(shrink * side), 2 * _MARGIN + 1) for side in grey.shape[2:]]
        grey = F.interpolate(grey, sides, mode="area")
    edges = gradients(grey)
    edges = edges / edges.norm(dim=1, keepdim=True).clamp(min=1e-6).sqrt()
    edges = edges / edges.flatten(1).norm(dim=1).clamp(min=1e-6)[:, None, None, None]
    return edges[:, :, _MARGIN:-_MARGIN, _MARGIN:-_MARGIN].half()


def _surroundings(side: int) -> Tensor:
    """Return how much each pixel of a side counts for each place along it, ``[places, side]``: less with distance."""
    places = torch.arange((_STRIDE - 1) / 2, side, _STRIDE)
    return (1 - (torch.arange(side) - places[:, None]).abs() / _CONTEXT).clamp(min=0)


def _bend(one: Tensor, other: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """Return what is left of images' edges ``[2, H, W, P]`` when the others are bent to be like them, ``[P]``.

    |a − b|² is |a|² + (|b|² − 2ab): the first does not depend on where b is taken from.
    """
    _, height, width, count = one.shape
    twice = -2 * one
    other = F.pad(other, (0, 0, *2 * (_REACH, _REACH)))
    energy = other.square().sum(0)
    # One memory for all shifts: to ask for more again and again takes longer than to fill it.
    at_pixels = torch.empty(height, width, count)
    at_rows = torch.empty(len(down), width * count)
    at_places = torch.empty(len(down), len(right), count)
    least = torch.full_like(at_places, torch.inf)
    each_row = right.expand(len(down), -1, -1)
    for y, x in product(range(2 * _REACH + 1), repeat=2):
        window = slice(y, y + height), slice(x, x + width)
        torch.addcmul(energy[window], twice[0], other[0][window], out=at_pixels)
        at_pixels.addcmul_(twice[1], other[1][window])
        torch.mm(down, at_pixels.view(height, -1), out=at_rows)
        torch.bmm(each_row, at_rows.view(len(down), width, count), out=at_places)
        torch.minimum(least, at_places, out=least)
    own = torch.einsum("yh,xw,hwp->p", down, right, one.square().sum(0))
    return (own + least.sum((0, 1))).clamp(min=0)
