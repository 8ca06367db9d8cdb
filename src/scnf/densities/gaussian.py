"""One Gaussian per class: SCNF-GMM."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.densities.base import ClassConditional
from scnf.densities.normal import standard_normal_log_prob

Covariance = Literal["diagonal", "full"]
_SMALLEST_VARIANCE = 1e-6


class GaussianPerClass(ClassConditional):
    """p(z | y) = N(z | μ_y, Σ_y) with learnable means and diagonal or full covariances.

    The precision is kept by its Cholesky factor, Σ_y⁻¹ = A_yᵀ A_y with A_y lower triangular and a positive diagonal,
    so z_h = A_y (z − μ_y) is standard normal. Reference: Atanov et al., SCNF (2019), section 3.4.

    Example:
        >>> import torch
        >>> from scnf.densities import GaussianPerClass
        >>> tuple(GaussianPerClass(features=2, classes=3).log_prob_all(torch.randn(5, 2)).shape)
        (5, 3)
    """

    def __init__(self, features: int, classes: int, covariance: Covariance = "diagonal"):
        super().__init__(features, classes)
        self.covariance = covariance
        # Means start apart: equal classes would get equal gradients and never part.
        self.mean = nn.Parameter(torch.randn(classes, features))
        self.log_precision = nn.Parameter(torch.zeros(classes, features))
        self.lower = nn.Parameter(torch.zeros(classes, features, features)) if covariance == "full" else None

    def _factor(self) -> Tensor:
        """Return A of every class: ``[K, D]`` diagonal or ``[K, D, D]`` full."""
        diagonal = self.log_precision.exp()
        if self.lower is None:
            return diagonal
        return self.lower.tril(-1) + torch.diag_embed(diagonal)

    def _whiten(self, z: Tensor) -> Tensor:
        """Return A_k (z − μ_k) for every class: ``[B, K, D]``."""
        centred = z[:, None] - self.mean
        factor = self._factor()
        return centred * factor if self.lower is None else torch.einsum("kij,bkj->bki", factor, centred)

    def log_prob_all(self, z: Tensor) -> Tensor:
        return standard_normal_log_prob(self._whiten(z)) + self.log_precision.sum(1)

    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        return self.log_prob_all(z).gather(1, y[:, None])[:, 0]

    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        return self._whiten(z)[torch.arange(len(z), device=z.device), y]

    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        factor = self._factor()[y]
        if self.lower is None:
            return z_h / factor + self.mean[y]
        return torch.linalg.solve_triangular(factor, z_h[:, :, None], upper=False)[:, :, 0] + self.mean[y]

    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        return torch.randn(n, self.features, dtype=self.mean.dtype, device=self.mean.device) * temperature

    @torch.no_grad()
    def initialize(self, z: Tensor, y: Tensor) -> None:
        """Start every class at the mean and covariance of its labelled rows, shrunk as few rows of many columns need.

        A class's covariance is shrunk towards that within all classes, with as many pseudo-rows as there are columns,
        and that one towards the variances of all rows.
        """
        labelled, labels = z[y >= 0], y[y >= 0]
        belongs = F.one_hot(labels, self.classes).to(z)
        counts = belongs.sum(0)[:, None]
        means = (belongs.T @ labelled) / counts.clamp(min=1)
        centred = labelled - means[labels]
        scatter = torch.einsum("bk,bi,bj->kij", belongs, centred, centred)
        total = torch.diag(z.var(0, correction=0).clamp(min=_SMALLEST_VARIANCE))
        within = (scatter.sum(0) + self.features * total) / (len(labelled) + self.features)
        covariance = (scatter + self.features * within) / (counts[:, :, None] + self.features)
        self.mean.copy_(torch.where(counts > 0, means, self.mean))
        if self.lower is None:
            self.log_precision.copy_(-0.5 * covariance.diagonal(dim1=1, dim2=2).log())
            return
        # Σ = L Lᵀ, so A = L⁻¹ is the lower triangular factor of Σ⁻¹ = Aᵀ A.
        eye = torch.eye(self.features, dtype=z.dtype, device=z.device).expand_as(covariance)
        factor = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), eye, upper=False)
        self.log_precision.copy_(factor.diagonal(dim1=1, dim2=2).log())
        self.lower.copy_(factor.tril(-1))
