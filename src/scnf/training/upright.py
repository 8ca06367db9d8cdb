"""Images set upright: what leans is sheared back by its second moments, and moved to the middle."""

import torch
from torch import Tensor
from torch.nn import functional as F


def set_upright(images: Tensor) -> Tensor:
    """Return images ``[N, C, H, W]`` with their ink (what differs from the background) centred and not leaning.

    The background, the median of an image's border, is 0 afterwards.

    Example:
        >>> import torch
        >>> leaning = torch.eye(9)[None, None]
        >>> set_upright(leaning)[0, 0].sum(0).argmax().item()  # all of it in the middle column
        4
    """
    images = images.float()
    ink = images - _border(images).median(2).values[..., None, None]
    height, width = images.shape[2:]
    weight = ink.abs().sum(1)
    weight = weight / weight.sum((1, 2), keepdim=True).clamp(min=1e-6)
    down = torch.arange(height) - (height - 1) / 2
    right = torch.arange(width) - (width - 1) / 2
    by_row, by_column = weight.sum(2), weight.sum(1)
    low, far = by_row @ down, by_column @ right  # where the ink's middle is
    spread = by_row @ down**2 - low**2
    together = (weight @ right * down).sum(1) - low * far
    lean = together / spread.clamp(min=1e-6)
    # affine_grid counts a side from -1 to 1.
    theta = torch.zeros(len(images), 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = 1
    theta[:, 0, 1], theta[:, 0, 2], theta[:, 1, 2] = lean * height / width, 2 * far / width, 2 * low / height
    return F.grid_sample(ink, F.affine_grid(theta, list(images.shape), align_corners=False), align_corners=False)


def _border(images: Tensor) -> Tensor:
    """Return the outermost pixels of each channel, ``[N, C, pixels]``."""
    rows, columns = images[:, :, [0, -1]], images[:, :, 1:-1, [0, -1]]
    return torch.cat([rows.flatten(2), columns.flatten(2)], 2)
