"""Coupling layers: a mask, a conditioner net and an elementwise map, each a part of its own."""

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from zuko.transforms import MonotonicRQSTransform

from scnf.bijections.base import Bijection, repeat_rows
from scnf.bijections.masks import ChannelMask, Mask

ScaleMap = Literal["sigmoid", "exp", "tanh"]


class ElementwiseMap(nn.Module, ABC):
    """A monotone scalar map whose parameters, ``size`` for each component, come from the conditioner.

    The parameters of C channels are ``[B, size · C, ...]``; results have the shape of ``x``.
    """

    size: int

    @abstractmethod
    def forward(self, x: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mapped values and their elementwise log-derivative."""

    @abstractmethod
    def inverse(self, z: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values mapped back and the elementwise log-derivative of that."""


class AffineMap(ElementwiseMap):
    """z = x · scale(s) + t, with one of three scales.

    - ``exp``: exp(s), as in the paper;
    - ``sigmoid``: sigmoid(s + 2), the authors' code;
    - ``tanh``: exp(c · tanh(s / c)), near exp(s) around 0 and between exp(−c) and exp(c) everywhere: the stable one.
    """

    size = 2

    def __init__(self, scale: ScaleMap = "tanh", bound: float = 2.0):
        super().__init__()
        if scale not in ("sigmoid", "exp", "tanh"):
            raise ValueError(f"scale must be 'sigmoid', 'exp' or 'tanh', got {scale!r}")
        self.scale: ScaleMap = scale
        self.bound = bound

    def _log_scale(self, s: Tensor) -> Tensor:
        if self.scale == "exp":
            return s
        if self.scale == "sigmoid":
            return F.logsigmoid(s + 2.0)
        return self.bound * torch.tanh(s / self.bound)

    def forward(self, x: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        s, t = parameters.chunk(2, dim=1)
        log_scale = self._log_scale(s)
        return torch.addcmul(t, x, log_scale.exp()), log_scale

    def inverse(self, z: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        s, t = parameters.chunk(2, dim=1)
        log_scale = self._log_scale(s)
        return (z - t) * (-log_scale).exp(), -log_scale


class SplineMap(ElementwiseMap):
    """A monotone rational-quadratic spline on [−bound, bound], the identity outside (zuko's transform).

    Reference: Durkan et al., Neural Spline Flows (2019).
    """

    def __init__(self, bins: int = 8, bound: float = 5.0):
        super().__init__()
        self.bins = bins
        self.bound = bound
        self.size = 3 * bins - 1

    def _transform(self, x: Tensor, parameters: Tensor) -> MonotonicRQSTransform:
        per_component = parameters.unflatten(1, (self.size, x.shape[1])).movedim(1, -1)
        sizes = [self.bins, self.bins, self.bins - 1]
        return MonotonicRQSTransform(*per_component.split(sizes, dim=-1), bound=self.bound)

    def forward(self, x: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        z, ladj = self._transform(x, parameters).call_and_ladj(x)
        return z, ladj

    def inverse(self, z: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
        transform = self._transform(z, parameters)
        x = transform.inv(z)
        return x, -transform.call_and_ladj(x)[1]


class Coupling(Bijection):
    """z₁ = x₁, z₂ = map(x₂; net(x₁, context)): the (conditional) coupling layer.

    With the label as context this is the paper's conditional coupling layer: s and t see x₁ and y.
    ``net(seen, context)`` returns ``[B, map.size · moved_channels, ...]``, and ``net(seen, contexts, every=True)`` the
    same for every row under every context, as ``forward_all`` does.
    Reference: Dinh et al., Real NVP (2016); Atanov et al., SCNF (2019), section 3.3.

    Example:
        >>> import torch
        >>> from scnf.bijections import AffineMap, ChannelMask, Coupling
        >>> from scnf.nets import MLP
        >>> mask, affine = ChannelMask(4), AffineMap("tanh")
        >>> net = MLP(mask.seen_channels, affine.size * mask.moved_channels, [16], context_features=3)
        >>> layer = Coupling(mask, net, affine)
        >>> z, ladj = layer(torch.randn(5, 4), torch.eye(3)[[0, 1, 2, 0, 1]])
        >>> tuple(z.shape), tuple(ladj.shape)
        ((5, 4), (5,))
    """

    def __init__(self, mask: Mask, net: nn.Module, elementwise: ElementwiseMap):
        super().__init__()
        self.mask = mask
        self.net = net
        self.elementwise = elementwise

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        seen, moved = self.mask.split(x)
        moved, log_derivative = self.elementwise(moved, self.net(seen, context))
        return self.mask.merge(seen, moved), self.mask.total(log_derivative)

    def forward_all(self, x: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor]:
        seen, moved = self.mask.split(x)
        parameters = self.net(seen, contexts, every=True)
        moved, log_derivative = self.elementwise(repeat_rows(moved, len(contexts)), parameters)
        return self.mask.merge(repeat_rows(seen, len(contexts)), moved), self.mask.total(log_derivative)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        seen, moved = self.mask.split(z)
        moved, log_derivative = self.elementwise.inverse(moved, self.net(seen, context))
        return self.mask.merge(seen, moved), self.mask.total(log_derivative)


class TwoWayCoupling(Bijection):
    """Both halves of the channels move in turn: z₂ = map(x₂; first(x₁)), z₁ = map(x₁; second(z₂)).

    Two coupling layers with opposite masks in one. ``first(x₁, context)`` returns ``[B, map.size · C₂, ...]`` and
    ``second(z₂, context)`` returns ``[B, map.size · C₁, ...]``, where C₁ = C // 2 and C₂ = C − C₁.
    """

    def __init__(self, channels: int, first: nn.Module, second: nn.Module, elementwise: ElementwiseMap):
        super().__init__()
        self.mask = ChannelMask(channels)
        self.first = first
        self.second = second
        self.elementwise = elementwise

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        one, two = self.mask.split(x)
        return self._move(one, two, self.first(one, context), context)

    def forward_all(self, x: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor]:
        one, two = self.mask.split(x)
        parameters = self.first(one, contexts, every=True)
        count = len(contexts)
        return self._move(repeat_rows(one, count), repeat_rows(two, count), parameters, contexts)

    def _move(self, one: Tensor, two: Tensor, parameters: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        two, log_derivative_two = self.elementwise(two, parameters)
        one, log_derivative_one = self.elementwise(one, self.second(two, context))
        return self.mask.merge(one, two), self.mask.total(log_derivative_one) + self.mask.total(log_derivative_two)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        one, two = self.mask.split(z)
        one, log_derivative_one = self.elementwise.inverse(one, self.second(two, context))
        two, log_derivative_two = self.elementwise.inverse(two, self.first(one, context))
        return self.mask.merge(one, two), self.mask.total(log_derivative_one) + self.mask.total(log_derivative_two)
