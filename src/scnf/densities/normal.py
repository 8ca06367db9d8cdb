"""Gaussian log-densities."""

import math

import torch
from torch import Tensor, nn

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def standard_normal_log_prob(z: Tensor) -> Tensor:
    """Return log N(z | 0, I) of vectors: ``[..., D]`` to ``[...]``."""
    return -0.5 * z.square().sum(-1) - z.shape[-1] * _HALF_LOG_TWO_PI


class DiagonalNormal(nn.Module):
    """N(0, diag(σ²)) with learnable σ: the base of the paper's conditional flow."""

    def __init__(self, features: int):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(features))

    def log_prob(self, z: Tensor) -> Tensor:
        """Return the log-density: ``[B, D]`` to ``[B]``."""
        return standard_normal_log_prob(z * (-self.log_scale).exp()) - self.log_scale.sum()

    def sample(self, n: int, temperature: float = 1.0) -> Tensor:
        """Draw n vectors."""
        noise = torch.randn(n, len(self.log_scale), dtype=self.log_scale.dtype, device=self.log_scale.device)
        return noise * self.log_scale.exp() * temperature
