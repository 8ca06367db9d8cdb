"""Altered copies of images: small shifts, turns, stretches and shears that leave the class as it is."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from scnf.recipes.schema import AugmentSpec


def _uniform(rows: int, limit: float, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(rows, generator=generator) - 1) * limit


def altered(images: Tensor, spec: AugmentSpec, generator: torch.Generator) -> Tensor:
    """Return a copy of each image under a random affine map, interpolated and rounded: ``[B, C, H, W]`` integers.

    What comes in from outside the picture is 0. The draw depends on the generator alone.

    Example:
        >>> import torch
        >>> from scnf.recipes import AugmentSpec
        >>> images = torch.randint(0, 256, (5, 1, 28, 28), dtype=torch.uint8)
        >>> copies = altered(images, AugmentSpec(rotate=10), torch.Generator().manual_seed(0))
        >>> copies.shape == images.shape, copies.dtype
        (True, torch.uint8)
    """
    rows, _, height, width = images.shape
    angle = _uniform(rows, math.radians(spec.rotate), generator)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=1).view(rows, 2, 2)
    stretch = torch.zeros(rows, 2, 2)
    stretch[:, 0, 0] = 1 + _uniform(rows, spec.scale, generator)
    stretch[:, 1, 1] = 1 + _uniform(rows, spec.scale, generator)
    stretch[:, 0, 1] = _uniform(rows, spec.shear, generator)
    # affine_grid measures the picture from -1 to 1, a shift is given in pixels.
    shift = torch.stack([_uniform(rows, 2 * spec.shift / size, generator) for size in (width, height)], dim=1)
    grid = F.affine_grid(torch.cat([turn @ stretch, shift[:, :, None]], dim=2), list(images.shape), align_corners=False)
    moved = F.grid_sample(images.float(), grid, align_corners=False)
    # An average of values never leaves their range, so rounding is all that integers need.
    return moved.round().to(images.dtype)
