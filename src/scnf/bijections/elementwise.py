"""Fixed elementwise maps."""

import math
from statistics import NormalDist

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
        z = self.elementwise(x)
        return z, sum_per_row(self.log_derivative(z))

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self.elementwise_inverse(z), -sum_per_row(self.log_derivative(z))

    def elementwise(self, x: Tensor) -> Tensor:
        """Return z of each value."""
        inner = self.alpha / 2 + (1 - self.alpha) * x
        return torch.log(inner) - torch.log1p(-inner)

    def elementwise_inverse(self, z: Tensor) -> Tensor:
        """Return x of each value."""
        return (torch.sigmoid(z) - self.alpha / 2) / (1 - self.alpha)

    def log_derivative(self, z: Tensor) -> Tensor:
        """Return log dz/dx of each value, from z."""
        return math.log1p(-self.alpha) - F.logsigmoid(z) - F.logsigmoid(-z)


class BackgroundLogit(Bijection):
    """A logit for images that are mostly background: level 0 becomes a narrow Gaussian left of all the ink.

    Dequantised, level 0 is uniform on [0, 1/n), n the number of levels: a box that affine layers fit badly. There,
    z = m + s·Φ⁻¹(δ/2 + (1 − δ)·n·x); elsewhere z is the logit with its margins. The Gaussian ends just left of where
    the logit begins, e = logit(α/2 + (1 − α)/n): m = e − 3.1·s and Φ⁻¹(1 − δ/2) = 3.09. Exact in both parts. Latents
    left of the Gaussian or in the gap, which no pixel has, are taken to its ends. Any shape.
    """

    _TAILS = 0.002  # δ
    _STD = 0.05  # s
    _EDGE_IN_STDS = 3.1

    def __init__(self, levels: int = 256, alpha: float = 0.05):
        super().__init__()
        if levels < 2:
            raise ValueError(f"levels must be at least 2, got {levels}")
        self.levels = levels
        self.logit = Logit(alpha)
        inner = alpha / 2 + (1 - alpha) / levels
        self.edge = math.log(inner) - math.log1p(-inner)
        self.mean = self.edge - self._EDGE_IN_STDS * self._STD

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        in_bin = x * self.levels < 1
        # Both parts are computed for all pixels and stay finite there: a NaN would spoil the gradient of the other.
        share = (x * self.levels).clamp(0, 1)
        normal = torch.special.ndtri(self._TAILS / 2 + (1 - self._TAILS) * share)
        z = torch.where(in_bin, self.mean + self._STD * normal, self.logit.elementwise(x))
        return z, sum_per_row(torch.where(in_bin, self._bin_log_derivative(normal), self.logit.log_derivative(z)))

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        in_bin = z < self.edge
        end = NormalDist().inv_cdf(1 - self._TAILS / 2)
        normal = ((z - self.mean) / self._STD).clamp(-end, end)
        share = (torch.special.ndtr(normal) - self._TAILS / 2) / (1 - self._TAILS)
        below_one = 1 - 4 * torch.finfo(z.dtype).eps  # so that rounding does not lead out of the bin
        x = torch.where(in_bin, share.clamp(0, below_one) / self.levels, self.logit.elementwise_inverse(z))
        log_derivative = torch.where(in_bin, self._bin_log_derivative(normal), self.logit.log_derivative(z))
        return x, -sum_per_row(log_derivative)

    def _bin_log_derivative(self, normal: Tensor) -> Tensor:
        """Return log dz/dx where z = m + s·normal: φ is the slope of Φ."""
        constant = math.log(self._STD * self.levels * (1 - self._TAILS)) + 0.5 * math.log(2 * math.pi)
        return 0.5 * normal.square() + constant
