"""Conditioners: the ordinary networks inside coupling layers and ODEs.

Every net is called as ``net(x, context=None)``. The context, a ``[B, C]`` tensor such as a one-hot label, is added to
the hidden layers through a linear map; one of K rows serves K equal blocks of x. ``net(x, contexts, every=True)`` is
the net of every row under every context, ``[K · B, ...]``, and x goes through the first layer once for all of them.
The last layer starts at zero, so a fresh coupling layer is the identity.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.bijections.base import in_blocks, over_blocks, repeat_rows

# Beyond it a value is far out and no more: what nets make of larger ones, step after step, is that a single row is
# thrown out ever further, and outweighs all others. In trained models no usual row gets there: 7 was the most in the
# nets of f, 9 in those of an h that learned alone.
FARTHEST = 10.0
NO_LIMIT = torch.finfo(torch.float32).max  # not infinite: whoever looks for ruined weights finds none here


def _zero_start(layer: nn.Linear | nn.Conv2d) -> None:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(cast(Tensor, layer.bias))


class _ContextBias(nn.Module):
    """Add a linear function of the context to every hidden channel; nothing without a context."""

    def __init__(self, context_features: int, channels: int):
        super().__init__()
        self.linear = nn.Linear(context_features, channels, bias=False) if context_features else None

    def forward(self, hidden: Tensor, context: Tensor | None, every: bool = False) -> Tensor:
        if self.linear is None:
            return repeat_rows(hidden, len(cast(Tensor, context))) if every else hidden
        if context is None:
            raise ValueError("this net was built with a context and is called without one")
        bias = over_blocks(self.linear(context), hidden)
        blocks = hidden[None] if every else in_blocks(hidden, len(bias))
        return (blocks + bias).flatten(0, 1)


class Net(nn.Module, ABC):
    """A conditioner, called as told above.

    While it is trained, ``products`` may set another type for matrix products and convolutions; what it returns has
    the type of x. One that ``has_limit`` takes values beyond its ``limit`` for the limit, once ``set_limit`` gives it
    one. The flow around it stays exact: it is invertible whatever its nets return.
    """

    products: torch.dtype | None = None
    limit: Tensor

    def __init__(self, has_limit: bool = False):
        super().__init__()
        self.has_limit = has_limit
        if has_limit:
            # Kept with the weights, which are worth nothing without the limit that they were trained with.
            self.register_buffer("limit", torch.tensor(NO_LIMIT))

    def forward(self, x: Tensor, context: Tensor | None = None, every: bool = False) -> Tensor:
        if self.has_limit:
            x = x.clamp(-self.limit, self.limit)
        if self.products is None or not self.training:
            return self.compute(x, context, every)
        with torch.autocast(x.device.type, self.products):
            return self.compute(x, context, every).to(x.dtype)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *more: Any) -> None:
        if self.has_limit:
            state_dict.setdefault(f"{prefix}limit", torch.tensor(NO_LIMIT))  # in files from before there were limits
        super()._load_from_state_dict(state_dict, prefix, *more)

    @abstractmethod
    def compute(self, x: Tensor, context: Tensor | None, every: bool) -> Tensor:
        """Return the net's value."""


def let_nets_train(model: nn.Module) -> None:
    """Let all nets of a model, and nothing else of it, be as they are in training."""
    for module in model.modules():
        if isinstance(module, Net):
            module.train()


def set_products(model: nn.Module, products: torch.dtype | None) -> None:
    """Let all nets of a model make their products in a type while they are trained; None is the type of their input."""
    for module in model.modules():
        if isinstance(module, Net):
            module.products = products


class MLP(Net):
    """A fully connected net for vectors, SiLU between the layers; one with a context has a limit.

    Shapes: x ``[B, in_features]``, context ``[B, context_features]``, output ``[B, out_features]``.
    """

    def __init__(self, in_features: int, out_features: int, hidden: Sequence[int], context_features: int = 0):
        super().__init__(has_limit=context_features > 0)
        sizes = [in_features, *hidden]
        pairs = list(pairwise(sizes))
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.context = nn.ModuleList(_ContextBias(context_features, b) for _, b in pairs)
        self.head = nn.Linear(sizes[-1], out_features)
        _zero_start(self.head)

    def compute(self, x: Tensor, context: Tensor | None, every: bool) -> Tensor:
        for linear, bias in zip(self.hidden, self.context, strict=True):
            x = F.silu(bias(linear(x), context, every))
            every = False  # from here on there is a block of rows for each context
        x = self.head(x)
        return repeat_rows(x, len(cast(Tensor, context))) if every else x


def set_limit(module: nn.Module, limit: float) -> None:
    """Let all nets of a module that have a limit take values beyond it for the limit."""
    for net in module.modules():
        if isinstance(net, Net) and net.has_limit:
            net.limit.fill_(limit)


class _ResidualNet(Net):
    """Stem, context, pre-activation residual blocks, head."""

    stem: nn.Module
    context: _ContextBias
    blocks: nn.ModuleList
    head: nn.Module

    def compute(self, x: Tensor, context: Tensor | None, every: bool) -> Tensor:
        # In place wherever autograd needs no other copy: what a convolution or a sum returns, it does not keep.
        x = self.context(self.stem(x), context, every)
        for block in self.blocks:
            first, second = cast(nn.ModuleList, block)
            x = second(F.relu_(first(F.relu(x)))).add_(x)
        return cast(Tensor, self.head(F.relu_(x)))


class ResidualMLP(_ResidualNet):
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


def _meant_last(x: Tensor) -> Tensor:
    """Return images whose channels a convolution takes for the last dimension in memory.

    One channel is first and last at once, so its strides must tell.
    """
    return x.squeeze(1).unsqueeze(-1).movedim(-1, 1) if x.shape[1] == 1 else x


class ConvResNet(_ResidualNet):
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
        self.head = Conv3x3(hidden, out_channels)
        channels_last(self)

    def compute(self, x: Tensor, context: Tensor | None, every: bool) -> Tensor:
        return super().compute(_meant_last(x), context, every)


class GlowNet(Net):
    """Glow's net for images: convolutions of 3×3, 1×1 and 3×3, ReLU between them. It has a limit.

    Reference: Kingma & Dhariwal, Glow (2018), section 5. Shapes: as of ``ConvResNet``.
    """

    def __init__(self, in_channels: int, out_channels: int, hidden: int, context_features: int = 0):
        super().__init__(has_limit=True)
        self.stem = nn.Conv2d(in_channels, hidden, 3, padding=1)
        self.context = _ContextBias(context_features, hidden)
        self.middle = nn.Conv2d(hidden, hidden, 1)
        self.head = Conv3x3(hidden, out_channels)
        channels_last(self)

    def compute(self, x: Tensor, context: Tensor | None, every: bool) -> Tensor:
        x = F.relu_(self.context(self.stem(_meant_last(x)), context, every))
        return cast(Tensor, self.head(F.relu_(self.middle(x))))


class Conv3x3(nn.Conv2d):
    """One 3×3 convolution that starts at zero."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(in_channels, out_channels, 3, padding=1)
        _zero_start(self)
        channels_last(self)


def channels_last(module: nn.Module) -> None:
    """Lay the weights of all convolutions out with channels last: their outputs follow, which is faster on CPUs."""
    for convolution in module.modules():
        if isinstance(convolution, nn.Conv2d):
            convolution.weight.data = convolution.weight.data.contiguous(memory_format=torch.channels_last)
