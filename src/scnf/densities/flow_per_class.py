"""A flow of its own for every class: what a semi-conditional flow spares."""

import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from scnf.bijections import Bijection
from scnf.bijections.base import Shape
from scnf.densities.base import ClassConditional
from scnf.densities.normal import standard_normal_log_prob


class FlowPerClass(ClassConditional):
    """log p(z | y) = log|det ∂h_y(z)/∂z| + log N(h_y(z) | 0, I): parameters and passes grow with the classes.

    Args:
        flows: h_0 … h_{K−1}, from ``[B, *shape]`` to as many components.
        shape: what a row of z is to the flows.

    Example:
        >>> import torch
        >>> from scnf.bijections import ActNorm
        >>> from scnf.densities import FlowPerClass
        >>> density = FlowPerClass([ActNorm(2) for _ in range(3)], shape=(2,))
        >>> tuple(density.log_prob_all(torch.randn(5, 2)).shape)
        (5, 3)
    """

    def __init__(self, flows: Sequence[Bijection], shape: Shape):
        super().__init__(math.prod(shape), len(flows))
        self.flows = nn.ModuleList(flows)
        self.shape = tuple(shape)
        self.latent_shape = flows[0].forward_shape(self.shape)

    def _flow(self, k: int) -> Bijection:
        return cast(Bijection, self.flows[k])

    def _log_prob(self, k: int, z: Tensor) -> Tensor:
        z_h, ladj = self._flow(k)(z.unflatten(1, self.shape))
        return standard_normal_log_prob(z_h.flatten(1)) + ladj

    def _by_class(self, function: Callable[[int, Tensor], Tensor], z: Tensor, y: Tensor) -> Tensor:
        """Return ``function(k, rows of class k)``, in the order of the rows."""
        order = y.argsort(stable=True)
        parts = z[order].split(torch.bincount(y, minlength=self.classes).tolist())
        return torch.cat([function(k, rows) for k, rows in enumerate(parts) if len(rows)])[order.argsort()]

    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        return self._by_class(self._log_prob, z, y)

    def log_prob_all(self, z: Tensor) -> Tensor:
        return torch.stack([self._log_prob(k, z) for k in range(self.classes)], dim=1)

    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        return self._by_class(lambda k, rows: self._flow(k)(rows.unflatten(1, self.shape))[0].flatten(1), z, y)

    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        return self._by_class(
            lambda k, rows: self._flow(k).inverse(rows.unflatten(1, self.latent_shape))[0].flatten(1), z_h, y
        )

    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        like = next(self.parameters())
        return torch.randn(n, self.features, dtype=like.dtype, device=like.device) * temperature

    @torch.no_grad()
    def initialize(self, z: Tensor, y: Tensor, belongs: Tensor | None = None) -> None:
        # From all rows: the few that have a label tell no scale.
        for k in range(self.classes):
            self._flow(k).initialize(z.unflatten(1, self.shape))
