"""Conditioners: the ordinary networks inside coupling layers and ODEs.

Every net is called as ``net(x, context=None)``. The context, a ``[B, C]`` tensor such as a one-hot label, is added to
the hidden layers through a linear map. The last layer starts at zero, so a fresh coupling layer is the identity.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F

from scnf.bijections.base import over_channels


def _zero_start(layer: nn.Linear | nn.Conv2d) -> None:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(cast(Tensor, layer.bias))


class _ContextBias(nn.Module):
    """Add a linear function of the context to every hidden channel; nothing without a context."""

    def __init__(self, context_features: int, channels: int):
        super().__init__()
        self.linear = nn.Linear(context_features, channels, bias=False) if context_features else None

    def forward(self, hidden: Tensor, context: Tensor | None) -> Tensor:
        if self.linear is None:
            return hidden
        if context is None:
            raise ValueError("this net was built with a context and is called without one")
        return hidden + over_channels(self.linear(context), hidden)


def _residual(net: "ResidualMLP | ConvResNet", x: Tensor) -> Tensor:
    for block in net.blocks:
        first, second = cast(nn.ModuleList, block)
        x = x + second(F.relu(first(F.relu(x))))
    return cast(Tensor, net.head(F.relu(x)))


class MLP(nn.Module):
    """A fully connected net for vectors, SiLU between the layers.

    Shapes: x ``[B, in_features]``, context ``[B, context_features]``, output ``[B, out_features]``.
    """

    def __init__(self, in_features: int, out_features: int, hidden: Sequence[int], context_features: int = 0):
        super().__init__()
        sizes = [in_features, *hidden]
        pairs = list(pairwise(sizes))
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.context = nn.ModuleList(_ContextBias(context_features, b) for _, b in pairs)
        self.head = nn.Linear(sizes[-1], out_features)
        _zero_start(self.head)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        for linear, bias in zip(self.hidden, self.context, strict=True):
            x = F.silu(bias(linear(x), context))
        return cast(Tensor, self.head(x))


class ResidualMLP(nn.Module):
    """A residual net for vectors: linear map, ``blocks`` pre-activation residual blocks, linear head.

    Shapes: x ``[B, in_features]``, context ``[B, context_features]``, output ``[B, out_features]``.
    """

    def __init__(self, in_features: int, out_features: int, hidden: int, blocks: int, context_features: int = 0):
        super().__init__()
        self.stem = nn.Linear(in_features, hidden)
        self.context = _ContextBias(context_features, hidden)
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)]) for _ in range(blocks)
        )
        self.head = nn.Linear(hidden, out_features)
        _zero_start(self.head)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        return _residual(self, self.context(self.stem(x), context))


class ConvResNet(nn.Module):
    """A residual net for images: 3×3 convolution, ``blocks`` pre-activation residual blocks, 3×3 head.

    Shapes: x ``[B, in_channels, H, W]``, context ``[B, context_features]``, output ``[B, out_channels, H, W]``.
    """

    def __init__(self, in_channels: int, out_channels: int, hidden: int, blocks: int, context_features: int = 0):
        super().__init__()
        self.stem = nn.Conv2d(in_channels, hidden, 3, padding=1)
        self.context = _ContextBias(context_features, hidden)
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.Conv2d(hidden, hidden, 3, padding=1), nn.Conv2d(hidden, hidden, 3, padding=1)])
            for _ in range(blocks)
        )
        self.head = nn.Conv2d(hidden, out_channels, 3, padding=1)
        _zero_start(self.head)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        return _residual(self, self.context(self.stem(x), context))


class Conv3x3(nn.Conv2d):
    """One 3×3 convolution that starts at zero."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(in_channels, out_channels, 3, padding=1)
        _zero_start(self)
