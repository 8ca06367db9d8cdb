"""What every invertible layer is.

``forward`` always maps data to latents and ``inverse`` maps latents to data. Both return the log-determinant of
their own Jacobian, ``ladj``, as a fresh ``[B]`` tensor.
"""

from abc import ABC, abstractmethod
from typing import cast

from torch import Tensor, nn

Shape = tuple[int, ...]


class Bijection(nn.Module, ABC):
    """An invertible map z = b(x; context) with a tractable log-determinant.

    Shapes: ``x`` is ``[B, *shape]``, ``context`` is ``[B, C]`` or None, ``z`` is ``[B, *forward_shape(shape)]`` and
    ``ladj`` is ``[B]``. Layers that do not use a context ignore it. A context of K rows, where K divides B, serves K
    equal blocks of rows: row k the k-th block.
    """

    @abstractmethod
    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map data to latents: z and log|det dz/dx|."""

    @abstractmethod
    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map latents to data: x and log|det dx/dz|."""

    def forward_all(self, x: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor]:
        """Map every row under every context: z ``[K · B, ...]`` and ladj ``[K · B]``, block k under context k.

        Layers that can do some of it once for all contexts say so by a method of their own.
        """
        return cast(tuple[Tensor, Tensor], self(repeat_rows(x, len(contexts)), contexts))

    def forward_shape(self, shape: Shape) -> Shape:
        """Return the shape of one latent for data of the given shape (without the batch)."""
        return shape

    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Set data-dependent parameters from a first batch and return its latents.

        Only this method changes a layer's state; ``forward`` and ``inverse`` never do.
        """
        return cast(Tensor, self(x, context)[0])


def zero_ladj(x: Tensor) -> Tensor:
    """Return a fresh ``[B]`` of zeros with x's dtype and device."""
    return x.new_zeros(x.shape[0])


def same_for_all(ladj: Tensor, x: Tensor) -> Tensor:
    """Return a scalar log-determinant once for each row of x: ``[B]``, each row with memory of its own."""
    return ladj.repeat(x.shape[0])


def sum_per_row(values: Tensor) -> Tensor:
    """Sum everything but the batch: ``[B, ...]`` to ``[B]``."""
    # Not flattened: that would copy images whose channels come last.
    return values.sum(tuple(range(1, values.dim())))


def repeat_rows(x: Tensor, times: int) -> Tensor:
    """Return so many copies of x as blocks of rows: ``[B, ...]`` to ``[times · B, ...]``."""
    return x.repeat(times, *[1] * (x.dim() - 1))


def in_blocks(x: Tensor, count: int) -> Tensor:
    """View the rows of x as equal blocks: ``[B, ...]`` to ``[count, B / count, ...]``; ``flatten(0, 1)`` leads back."""
    # Not len(x): a program of torch.export would be tied to that number.
    return x.unflatten(0, (count, x.shape[0] // max(count, 1)))


def over_blocks(values: Tensor, x: Tensor) -> Tensor:
    """View ``[K, C]`` values so that row k broadcasts against the k-th of K blocks of x ``[B, C, ...]``."""
    return over_channels(values, x)[:, None]


def pixels(x: Tensor) -> int:
    """Return how many positions share the channel dimension (dim 1): 1 for vectors, H·W for images."""
    return x[0, 0].numel()


def over_channels(values: Tensor, x: Tensor) -> Tensor:
    """View a per-channel ``[C]`` (or ``[B, C]``) tensor so that it broadcasts against ``x`` ``[B, C, ...]``."""
    return values.reshape(*values.shape, *([1] * (x.dim() - 2)))
