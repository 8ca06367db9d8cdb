"""Which components a coupling layer keeps and which it moves.

A mask splits x into the part that the conditioner sees and the part that is transformed, puts them together again,
and adds up the elementwise log-derivatives of the moved part alone.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from scnf.bijections.base import Shape, sum_per_row


class Mask(nn.Module, ABC):
    """A partition of the components of x; ``keep`` is True where x passes through unchanged."""

    keep: Tensor
    seen_channels: int
    moved_channels: int

    @abstractmethod
    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the conditioner sees and what is moved."""

    @abstractmethod
    def merge(self, seen: Tensor, moved: Tensor) -> Tensor:
        """Undo ``split``."""

    @abstractmethod
    def total(self, log_derivative: Tensor) -> Tensor:
        """Sum the elementwise log-derivatives of the moved components: ``[B]``."""


class ChannelMask(Mask):
    """Keep one half of the channels (dim 1) and move the other; serves vectors and images."""

    def __init__(self, channels: int, flip: bool = False):
        super().__init__()
        if channels < 2:
            raise ValueError(f"a channel mask needs at least 2 channels, got {channels}")
        first = channels // 2
        keep = torch.arange(channels) < first
        self.register_buffer("keep", ~keep if flip else keep)
        self.flip = flip
        self.sizes = [first, channels - first]
        self.seen_channels, self.moved_channels = reversed(self.sizes) if flip else self.sizes

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first, second = x.split(self.sizes, dim=1)
        return (second, first) if self.flip else (first, second)

    def merge(self, seen: Tensor, moved: Tensor) -> Tensor:
        return torch.cat([moved, seen] if self.flip else [seen, moved], dim=1)

    def total(self, log_derivative: Tensor) -> Tensor:
        return sum_per_row(log_derivative)


class CheckerboardMask(Mask):
    """Keep the pixels of one colour of a checkerboard, in every channel, and move those of the other."""

    def __init__(self, shape: Shape, flip: bool = False):
        super().__init__()
        channels, height, width = shape
        rows, columns = torch.arange(height)[:, None], torch.arange(width)[None, :]
        self.register_buffer("keep", (rows + columns + int(flip)) % 2 == 0)
        self.seen_channels = self.moved_channels = channels

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * self.keep, x

    def merge(self, seen: Tensor, moved: Tensor) -> Tensor:
        return torch.where(self.keep, seen, moved)

    def total(self, log_derivative: Tensor) -> Tensor:
        return sum_per_row(log_derivative * ~self.keep)
