"""Fixed elementwise maps."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from scnf.bijections.base import Bijection, sum_per_row


class Logit(Bijection):
    """z = logit(α/2 + (1 − α)·x): values in [0, 1] to the real line, with margins so that 0 and 1 stay finite.

    Reference: Dinh et al., Real NVP (2016), section 4.1. Any shape.
    """

    def __init__(self, alpha: float = 0.05):
        super().__init__()
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
        self.alpha = alpha

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        inner = self.alpha / 2 + (1 - self.alpha) * x
        z = torch.log(inner) - torch.log1p(-inner)
        return z, -self._inverse_ladj(z)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = (torch.sigmoid(z) - self.alpha / 2) / (1 - self.alpha)
        return x, self._inverse_ladj(z)

    def _inverse_ladj(self, z: Tensor) -> Tensor:
        return sum_per_row(F.logsigmoid(z) + F.logsigmoid(-z) - math.log1p(-self.alpha))
