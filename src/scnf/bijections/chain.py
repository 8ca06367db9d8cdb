"""The two ways to put layers together."""

from collections.abc import Iterable
from itertools import takewhile, zip_longest
from typing import cast

from torch import Tensor, nn

from scnf.bijections.actnorm import ActNorm
from scnf.bijections.base import Bijection, Shape, repeat_rows, zero_ladj
from scnf.bijections.linear import ChannelLinear


class Chain(Bijection):
    """Layers applied one after the other: z = b_n(… b_2(b_1(x))), the log-determinants added.

    An ActNorm and the linear map after it are one matrix product.

    Example:
        >>> import torch
        >>> from scnf.bijections import ActNorm, Chain, InvertibleLinear
        >>> flow = Chain(ActNorm(2), InvertibleLinear(2))
        >>> z, ladj = flow(torch.randn(5, 2))
        >>> tuple(z.shape), tuple(ladj.shape)
        ((5, 2), (5,))
    """

    def __init__(self, *layers: Bijection):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def _each(self) -> Iterable[Bijection]:
        return cast(Iterable[Bijection], self.layers)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._run(list(self._each()), x, context)

    def _run(self, layers: list[Bijection], x: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        total = zero_ladj(x)
        norm: ActNorm | None = None
        for layer, after in zip_longest(layers, layers[1:]):
            if isinstance(layer, ActNorm) and isinstance(after, ChannelLinear):
                norm = layer  # goes into the linear map that follows
                continue
            if norm is not None and isinstance(layer, ChannelLinear):
                x, ladj = layer.forward_after(norm, x)
                norm = None
            else:
                x, ladj = layer(x, context)
            total = total + ladj
        return x, total

    def forward_all(self, x: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor]:
        layers = list(self._each())
        # Up to the first layer that may look at a context, one pass serves all contexts.
        shared = list(takewhile(lambda layer: isinstance(layer, ActNorm | ChannelLinear), layers))
        x, shared_ladj = self._run(shared, x, None)
        total = repeat_rows(shared_ladj, len(contexts))
        if len(shared) == len(layers):
            return repeat_rows(x, len(contexts)), total
        x, first_ladj = layers[len(shared)].forward_all(x, contexts)
        x, ladj = self._run(layers[len(shared) + 1 :], x, contexts)
        return x, total + first_ladj + ladj

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        total = zero_ladj(z)
        for layer in reversed(list(self._each())):
            z, ladj = layer.inverse(z, context)
            total = total + ladj
        return z, total

    def forward_shape(self, shape: Shape) -> Shape:
        for layer in self._each():
            shape = layer.forward_shape(shape)
        return shape

    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        for layer in self._each():
            x = layer.initialize(x, context)
        return x


class Inverse(Bijection):
    """A shape-preserving layer run backwards: z = b⁻¹(x)."""

    def __init__(self, layer: Bijection):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self.layer.inverse(x, context)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return cast(tuple[Tensor, Tensor], self.layer(z, context))
