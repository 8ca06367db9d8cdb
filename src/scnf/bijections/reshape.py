"""Layers that move components about: Squeeze, Flatten and FactorOut."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.bijections.base import Bijection, Shape, sum_per_row, zero_ladj
from scnf.bijections.coupling import AffineMap


class Squeeze(Bijection):
    """SpaceToDepth: every n×n block of pixels becomes n² channels; ladj = 0. ``[B,C,H,W]`` to ``[B,n²C,H/n,W/n]``."""

    def __init__(self, factor: int = 2):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        # The nets that follow are fastest with channels last, and here the image is small.
        return F.pixel_unshuffle(x, self.factor).contiguous(memory_format=torch.channels_last), zero_ladj(x)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return F.pixel_shuffle(z, self.factor), zero_ladj(z)

    def forward_shape(self, shape: Shape) -> Shape:
        channels, height, width = shape
        if height % self.factor or width % self.factor:
            raise ValueError(f"Squeeze({self.factor}) needs a height and width that it divides, got {height}×{width}")
        return channels * self.factor**2, height // self.factor, width // self.factor


class Flatten(Bijection):
    """``[B, *shape]`` to ``[B, D]``; ladj = 0."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = tuple(shape)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return x.flatten(1), zero_ladj(x)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return z.unflatten(1, self.shape), zero_ladj(z)

    def forward_shape(self, shape: Shape) -> Shape:
        return (math.prod(shape),)


class FactorOut(Bijection):
    """Lead the last ``keep`` channels through ``inner`` and leave the others as they are.

    z = [flat(x_out) | flat(inner(x_keep))], so nested FactorOuts leave the deepest components last: [z_aux | z_f].
    With a ``conditioner``, x_out is standardised by what is kept, z_out = (x_out − μ(x_keep)) / σ(x_keep): under a
    standard normal z_out that is Glow's split prior. The net returns [s | μ], twice the channels of x_out, and
    log σ = 2·tanh(s/2).
    Shapes: ``[B, C]`` or ``[B, C, H, W]`` to ``[B, D]``. Reference: Dinh et al., Real NVP (2016), section 3.6.

    Example:
        >>> import torch
        >>> from scnf.bijections import ActNorm, FactorOut
        >>> tuple(FactorOut(ActNorm(2), shape=(4, 7, 7), keep=2)(torch.randn(5, 4, 7, 7))[0].shape)
        (5, 196)
    """

    def __init__(self, inner: Bijection, shape: Shape, keep: int, conditioner: nn.Module | None = None):
        super().__init__()
        channels = shape[0]
        if not 0 < keep < channels:
            raise ValueError(f"FactorOut keeps between 1 and {channels - 1} of {channels} channels, got {keep}")
        self.inner = inner
        self.keep = keep
        self.conditioner = conditioner
        self.scale_and_shift = AffineMap("tanh", bound=2.0)
        self.out_shape: Shape = (channels - keep, *shape[1:])
        self.kept_shape: Shape = (keep, *shape[1:])
        self.inner_shape = inner.forward_shape(self.kept_shape)

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, keep = x.split([self.out_shape[0], self.keep], dim=1)
        return out, keep

    def _standardize(self, out: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        if self.conditioner is None:
            return out, zero_ladj(out)
        out, log_derivative = self.scale_and_shift.inverse(out, self.conditioner(keep))
        return out, sum_per_row(log_derivative)

    def _restore(self, out: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        if self.conditioner is None:
            return out, zero_ladj(out)
        out, log_derivative = self.scale_and_shift(out, self.conditioner(keep))
        return out, sum_per_row(log_derivative)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        out, keep = self._split(x)
        out, out_ladj = self._standardize(out, keep)
        deep, ladj = self.inner(keep, context)
        return torch.cat([out.flatten(1), deep.flatten(1)], dim=1), ladj + out_ladj

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        out, deep = z.split([math.prod(self.out_shape), math.prod(self.inner_shape)], dim=1)
        keep, ladj = self.inner.inverse(deep.unflatten(1, self.inner_shape), context)
        out, out_ladj = self._restore(out.unflatten(1, self.out_shape), keep)
        return torch.cat([out, keep], dim=1), ladj + out_ladj

    def forward_shape(self, shape: Shape) -> Shape:
        return (math.prod(shape),)

    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        out, keep = self._split(x)
        out, _ = self._standardize(out, keep)
        deep = self.inner.initialize(keep, context)
        return torch.cat([out.flatten(1), deep.flatten(1)], dim=1)
