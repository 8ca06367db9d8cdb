"""Invertible linear maps over the channels: the same matrix for every row, or for every pixel."""

from abc import abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.bijections.actnorm import ActNorm
from scnf.bijections.base import Bijection, pixels, same_for_all

_SMALLEST_STD = 1e-6


def _over_channels(matrix: Tensor, x: Tensor, offset: Tensor | None = None) -> Tensor:
    if x.dim() == 2:
        return F.linear(x, matrix, offset)
    # On few channels a matrix product is faster than a 1×1 convolution, and on one a plain product by far.
    if x.shape[1] == 1:
        z = x * matrix
        return z if offset is None else z + offset
    return F.linear(x.movedim(1, -1), matrix, offset).movedim(-1, 1)


def _equal(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)


class _Cached(NamedTuple):
    """What was derived from a weight, and a copy of that weight."""

    weight: Tensor
    log_det: Tensor
    inverse: Tensor


class ChannelLinear(Bijection):
    """z = W x over the channels; ladj = H·W·log|det W|. Shapes: ``[B, C]`` or ``[B, C, H, W]``."""

    @abstractmethod
    def matrix_and_log_det(self) -> tuple[Tensor, Tensor]:
        """Return W ``[C, C]`` and log|det W|."""

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        matrix, log_det = self.matrix_and_log_det()
        return _over_channels(matrix, x), same_for_all(log_det * pixels(x), x)

    def forward_after(self, norm: ActNorm, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return what this layer makes of ``norm(x)``, and both log-determinants: one product instead of two maps."""
        matrix, log_det = self.matrix_and_log_det()
        scale = norm.log_scale.exp()
        z = _over_channels(matrix * scale, x, matrix @ (scale * norm.bias))
        return z, same_for_all((log_det + norm.log_scale.sum()) * pixels(x), x)


class InvertibleLinear(ChannelLinear):
    """z = W x over the channels with a full matrix W; ladj = H·W·log|det W|. Starts at a random rotation.

    Without gradients, log|det W| and W⁻¹ are computed once and kept until the weight changes.
    Reference: Kingma & Dhariwal, Glow (2018), section 3.2. Shapes: ``[B, C]`` or ``[B, C, H, W]``.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(nn.init.orthogonal_(torch.empty(channels, channels)))
        self._cache: _Cached | None = None

    def _derived(self) -> _Cached:
        # Compared by value: fused optimisers write to a weight without raising its version counter.
        if self._cache is None or not _equal(self._cache.weight, self.weight):
            # What is kept may serve autograd later, which refuses tensors made in inference mode.
            with torch.inference_mode(False):
                weight = self.weight.detach().clone()
                self._cache = _Cached(weight, torch.linalg.slogdet(weight).logabsdet, torch.linalg.inv(weight))
        return self._cache

    def _needs_gradient(self) -> bool:
        return torch.is_grad_enabled() and self.weight.requires_grad

    def _log_det(self) -> Tensor:
        if self._needs_gradient():
            return torch.linalg.slogdet(self.weight).logabsdet
        return self._derived().log_det

    def matrix_and_log_det(self) -> tuple[Tensor, Tensor]:
        return self.weight, self._log_det()

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        inverse = torch.linalg.inv(self.weight) if self._needs_gradient() else self._derived().inverse
        return _over_channels(inverse, z), same_for_all(-self._log_det() * pixels(z), z)


class LULinear(ChannelLinear):
    """z = P L (U + diag(s)) x over the channels; ladj = H·W·Σ log|s|, no determinant in the hot path.

    P is a fixed permutation and the signs of s are fixed, so W stays invertible. Starts at a random rotation.
    Reference: Kingma & Dhariwal, Glow (2018), equation 10. Shapes: ``[B, C]`` or ``[B, C, H, W]``.
    """

    permutation: Tensor
    sign: Tensor

    def __init__(self, channels: int):
        super().__init__()
        start = nn.init.orthogonal_(torch.empty(channels, channels))
        permutation, lower, upper = torch.linalg.lu(start)
        diagonal = upper.diagonal()
        self.register_buffer("permutation", permutation)
        self.register_buffer("sign", diagonal.sign())
        self.lower = nn.Parameter(lower.tril(-1))
        self.upper = nn.Parameter(upper.triu(1))
        self.log_diagonal = nn.Parameter(diagonal.abs().log())

    def _factors(self) -> tuple[Tensor, Tensor]:
        eye = torch.eye(len(self.sign), dtype=self.lower.dtype, device=self.lower.device)
        lower = self.lower.tril(-1) + eye
        upper = self.upper.triu(1) + torch.diag(self.sign * self.log_diagonal.exp())
        return lower, upper

    def matrix_and_log_det(self) -> tuple[Tensor, Tensor]:
        lower, upper = self._factors()
        return self.permutation @ lower @ upper, self.log_diagonal.sum()

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        lower, upper = self._factors()
        columns = self.permutation.T @ z.transpose(0, 1).flatten(1)
        columns = torch.linalg.solve_triangular(lower, columns, upper=False, unitriangular=True)
        columns = torch.linalg.solve_triangular(upper, columns, upper=True)
        x = columns.reshape(z.shape[1], z.shape[0], *z.shape[2:]).transpose(0, 1)
        return x.contiguous(), same_for_all(-self.log_diagonal.sum() * pixels(z), z)


class PrincipalComponents(Bijection):
    """z = Q (x − mean) / std for vectors: a fixed rotation to the data's principal components.

    They are whitened and the strongest come last, so the components that a FactorOut keeps are the ones that vary most.
    Taken from the data by ``initialize``.
    """

    mean: Tensor
    std: Tensor
    rotation: Tensor

    def __init__(self, features: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("std", torch.ones(features))
        self.register_buffer("rotation", torch.eye(features))

    def _ladj(self, x: Tensor) -> Tensor:
        return same_for_all(-self.std.log().sum(), x)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return F.linear(x - self.mean, self.rotation) / self.std, self._ladj(x)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return F.linear(z * self.std, self.rotation.T) + self.mean, -self._ladj(z)

    @torch.no_grad()
    def initialize(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        self.mean.copy_(x.mean(0))
        centred = (x - self.mean).double()
        variances, vectors = torch.linalg.eigh(centred.T @ centred / len(x))
        # A direction in which nothing varies keeps its scale, as a constant column does elsewhere.
        std = variances.clamp(min=0).sqrt()
        self.std.copy_(torch.where(std > _SMALLEST_STD, std, torch.ones_like(std)))
        self.rotation.copy_(vectors.T)  # eigh sorts from the weakest to the strongest
        return self.forward(x)[0]


def make_linear(kind: Literal["full", "lu"], channels: int) -> Bijection:
    """Return the linear layer that a recipe names."""
    return InvertibleLinear(channels) if kind == "full" else LULinear(channels)
