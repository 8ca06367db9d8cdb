"""Per-channel affine maps: learned (ActNorm), by context (ContextAffine) and fixed (Standardize)."""

import torch
from torch import Tensor, nn

from scnf.bijections.base import Bijection, in_blocks, over_blocks, over_channels, pixels, same_for_all

_SMALLEST_STD = 1e-6


def _mean_and_std(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each channel; a constant channel gets 1, so that it stays finite."""
    values = x.transpose(0, 1).flatten(1)
    std = values.std(1, correction=0)
    return values.mean(1), torch.where(std > _SMALLEST_STD, std, torch.ones_like(std))


class ActNorm(Bijection):
    """z = exp(s) · (x + b) per channel, started so that the first batch has zero mean and unit variance.

    Reference: Kingma & Dhariwal, Glow (2018), section 3.1. Shapes: ``[B, C]`` or ``[B, C, H, W]``.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.log_scale = nn.Parameter(torch.zeros(channels))

    def _ladj(self, x: Tensor) -> Tensor:
        return same_for_all(self.log_scale.sum() * pixels(x), x)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        z = (x + over_channels(self.bias, x)) * over_channels(self.log_scale.exp(), x)
        return z, self._ladj(x)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = z * over_channels((-self.log_scale).exp(), z) - over_channels(self.bias, z)
        return x, -self._ladj(z)

    @torch.no_grad()
    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        mean, std = _mean_and_std(x)
        self.bias.copy_(-mean)
        self.log_scale.copy_(-std.log())
        return self.forward(x)[0]


class ContextAffine(Bijection):
    """z = x · exp(s(context)) + t(context) per channel, s and t linear, starting as the identity.

    With the label as context this gives every class its own place and size after a conditional step.
    """

    def __init__(self, channels: int, context_features: int):
        super().__init__()
        self.shift_and_log_scale = nn.Linear(context_features, 2 * channels, bias=False)
        nn.init.zeros_(self.shift_and_log_scale.weight)

    def _parameters_for(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        if context is None:
            raise ValueError("ContextAffine needs a context")
        shift, log_scale = self.shift_and_log_scale(context).chunk(2, dim=1)
        return shift, log_scale

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        shift, log_scale = self._parameters_for(context)
        z = in_blocks(x, len(shift)) * over_blocks(log_scale.exp(), x) + over_blocks(shift, x)
        return z.flatten(0, 1), self._ladj(x, log_scale)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        shift, log_scale = self._parameters_for(context)
        x = (in_blocks(z, len(shift)) - over_blocks(shift, z)) * over_blocks((-log_scale).exp(), z)
        return x.flatten(0, 1), -self._ladj(z, log_scale)

    def _ladj(self, x: Tensor, log_scale: Tensor) -> Tensor:
        return (log_scale.sum(1) * pixels(x)).repeat_interleave(x.shape[0] // len(log_scale))


class Standardize(Bijection):
    """z = (x − mean) / std per channel with fixed statistics, taken from the data by ``initialize``."""

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    def _ladj(self, x: Tensor) -> Tensor:
        return same_for_all(-self.std.log().sum() * pixels(x), x)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return (x - over_channels(self.mean, x)) / over_channels(self.std, x), self._ladj(x)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return z * over_channels(self.std, z) + over_channels(self.mean, z), -self._ladj(z)

    @torch.no_grad()
    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        mean, std = _mean_and_std(x)
        self.mean.copy_(mean)
        self.std.copy_(std)
        return self.forward(x)[0]
