"""Gaussians that are not learned: the base of FlowGMM."""

import math

import torch
from torch import Tensor

from scnf.densities.base import ClassConditional
from scnf.densities.normal import standard_normal_log_prob


class FixedGaussians(ClassConditional):
    """p(z | y) = N(z | μ_y, I) with means that stay where they are, ``distance`` apart, their centre at 0.

    The means lie along random directions, which are perpendicular while there are as many components as classes. The
    directions are the same for every model of the same size: they are no part of what is learned.
    Reference: Izmailov et al., Semi-Supervised Learning with Normalizing Flows (2019), section 3.

    Example:
        >>> import torch
        >>> from scnf.densities import FixedGaussians
        >>> density = FixedGaussians(features=4, classes=3, distance=5.0)
        >>> [round(value, 4) for value in torch.pdist(density.mean).tolist()]
        [5.0, 5.0, 5.0]
    """

    mean: Tensor

    def __init__(self, features: int, classes: int, distance: float):
        super().__init__(features, classes)
        directions = torch.randn(classes, features, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        if classes <= features:
            directions = torch.linalg.qr(directions.T).Q.T
        else:
            directions = directions / directions.norm(dim=1, keepdim=True)
        mean = directions * (distance / math.sqrt(2))
        self.register_buffer("mean", (mean - mean.mean(0)).to(torch.get_default_dtype()))

    def log_prob_all(self, z: Tensor) -> Tensor:
        return standard_normal_log_prob(z[:, None] - self.mean)

    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        return standard_normal_log_prob(z - self.mean[y])

    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        return z - self.mean[y]

    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        return z_h + self.mean[y]

    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        return torch.randn(n, self.features, dtype=self.mean.dtype, device=self.mean.device) * temperature
