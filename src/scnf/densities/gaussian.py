"""One Gaussian per class: SCNF-GMM."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.densities.base import ClassConditional
from scnf.densities.normal import standard_normal_log_prob

Covariance = Literal["diagonal", "full", "shared"]
_SMALLEST_VARIANCE = 1e-6
_SMALLEST_COUNT = 1e-6  # of rows in a class: one that has none stays where it is
# EM on all rows: steps, and the weight of a labelled row, which leads at first and falls to that of any other.
_EM_STEPS, _EM_LEAD, _EM_LEAD_DECAY = 60, 30.0, 0.8


class GaussianPerClass(ClassConditional):
    """p(z | y) = N(z | μ_y, Σ_y) with learnable means and diagonal or full covariances, or one full Σ for all classes.

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
        matrices = 1 if covariance == "shared" else classes
        self.log_precision = nn.Parameter(torch.zeros(matrices, features))
        self.lower = None if covariance == "diagonal" else nn.Parameter(torch.zeros(matrices, features, features))

    def _factor(self) -> Tensor:
        """Return A of every class: ``[K, D]`` diagonal or ``[K, D, D]`` full."""
        diagonal = self.log_precision.exp()
        if self.lower is None:
            return diagonal
        return (self.lower.tril(-1) + torch.diag_embed(diagonal)).expand(self.classes, -1, -1)

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
    def initialize(self, z: Tensor, y: Tensor, belongs: Tensor | None = None) -> None:
        """Start every class at the mean and covariance of its labelled rows, shrunk as few rows of many columns need.

        A class's covariance is shrunk towards that within all classes, with as many pseudo-rows as there are columns,
        and that one towards the variances of all rows; one covariance for all towards its diagonal, with as many
        pseudo-rows as there are correlations. With ``belongs`` ``[B, K]``, how much each row is of each class,
        all rows count, and EM goes on from there.
        """
        labelled = y >= 0
        known = F.one_hot(y.clamp(min=0), self.classes).to(z) * labelled[:, None]
        if belongs is None:
            self._fit(z, known)
            return
        for step in range(_EM_STEPS):
            lead = 1 + (_EM_LEAD - 1) * _EM_LEAD_DECAY**step
            self._fit(z, torch.where(labelled[:, None], known * lead, belongs))
            belongs = self.log_prob_all(z).softmax(1)

    def _fit(self, z: Tensor, weights: Tensor) -> None:
        """Set means and covariances to those of rows with weights ``[B, K]``."""
        counts = weights.sum(0)[:, None]
        means = (weights.T @ z) / counts.clamp(min=_SMALLEST_COUNT)
        total = torch.diag(z.var(0, correction=0).clamp(min=_SMALLEST_VARIANCE))
        scatter = torch.stack(
            [((z - mean) * of[:, None]).T @ (z - mean) for mean, of in zip(means, weights.T, strict=True)]
        )
        within = (scatter.sum(0) + self.features * total) / (counts.sum() + self.features)
        covariance = (scatter + self.features * within) / (counts[:, :, None] + self.features)
        self.mean.copy_(torch.where(counts > _SMALLEST_COUNT, means, self.mean))
        if self.lower is None:
            self.log_precision.copy_(-0.5 * covariance.diagonal(dim1=1, dim2=2).log())
            return
        covariance = self._less_correlated(within, counts.sum())[None] if self.covariance == "shared" else covariance
        # Σ = L Lᵀ, so A = L⁻¹ is the lower triangular factor of Σ⁻¹ = Aᵀ A.
        eye = torch.eye(self.features, dtype=z.dtype, device=z.device).expand_as(covariance)
        factor = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), eye, upper=False)
        self.log_precision.copy_(factor.diagonal(dim1=1, dim2=2).log())
        self.lower.copy_(factor.tril(-1))

    def _less_correlated(self, covariance: Tensor, rows: Tensor) -> Tensor:
        """Return a covariance whose correlations are as strong as so many rows can tell them."""
        correlations = self.features * (self.features - 1) / 2
        diagonal = torch.diag(covariance.diagonal())
        return torch.lerp(covariance, diagonal, correlations / (correlations + rows))
