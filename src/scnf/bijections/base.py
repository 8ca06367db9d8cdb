"""What every invertible layer is, and the two ways to put layers together.

``forward`` always maps data to latents and ``inverse`` maps latents to data. Both return the log-determinant of
their own Jacobian, ``ladj``, as a fresh ``[B]`` tensor.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import cast

from torch import Tensor, nn

Shape = tuple[int, ...]


class Bijection(nn.Module, ABC):
    """An invertible map z = b(x; context) with a tractable log-determinant.

    Shapes: ``x`` is ``[B, *shape]``, ``context`` is ``[B, C]`` or None, ``z`` is ``[B, *forward_shape(shape)]`` and
    ``ladj`` is ``[B]``. Layers that do not use a context ignore it.
    """

    @abstractmethod
    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map data to latents: z and log|det dz/dx|."""

    @abstractmethod
    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map latents to data: x and log|det dx/dz|."""

    def forward_shape(self, shape: Shape) -> Shape:
        """Return the shape of one latent for data of the given shape (without the batch)."""
        return shape

    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Set data-dependent parameters from a first batch and return its latents.

        Only this method changes a layer's state; ``forward`` and ``inverse`` never do.
        """
        return cast(Tensor, self(x, context)[0])


class Chain(Bijection):
    """Layers applied one after the other: z = b_n(… b_2(b_1(x))), the log-determinants added.

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
        total = zero_ladj(x)
        for layer in self._each():
            x, ladj = layer(x, context)
            total = total + ladj
        return x, total

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


def zero_ladj(x: Tensor) -> Tensor:
    """Return a fresh ``[B]`` of zeros with x's dtype and device."""
    return x.new_zeros(x.shape[0])


def same_for_all(ladj: Tensor, x: Tensor) -> Tensor:
    """Return a scalar log-determinant once for each row of x: ``[B]``, each row with memory of its own."""
    return ladj.repeat(x.shape[0])


def sum_per_row(values: Tensor) -> Tensor:
    """Sum everything but the batch: ``[B, ...]`` to ``[B]``."""
    return values.flatten(1).sum(1)


def pixels(x: Tensor) -> int:
    """Return how many positions share the channel dimension (dim 1): 1 for vectors, H·W for images."""
    return x[0, 0].numel()


def over_channels(values: Tensor, x: Tensor) -> Tensor:
    """View a per-channel ``[C]`` (or ``[B, C]``) tensor so that it broadcasts against ``x`` ``[B, C, ...]``."""
    return values.reshape(*values.shape, *([1] * (x.dim() - 2)))
