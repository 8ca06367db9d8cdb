"""A linear map of its own for every context."""

import torch
from torch import Tensor, nn

from scnf.bijections.base import Bijection, in_blocks


class ContextLinear(Bijection):
    """z = A(context) x + t(context), A lower triangular, log of its diagonal, rest and t linear in the context.

    It starts as the identity. With the label as context it gives every class its own mean and full covariance at the
    price of one matrix product; what no Gaussian tells is left to the layers that follow. Shapes: ``[B, C]``.
    """

    def __init__(self, channels: int, context_features: int):
        super().__init__()
        self.log_diagonal = nn.Parameter(torch.zeros(context_features, channels))
        self.below = nn.Parameter(torch.zeros(context_features, channels, channels))
        self.shift = nn.Parameter(torch.zeros(context_features, channels))

    def _parameters_for(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return A ``[K, C, C]``, t ``[K, C]`` and log|det A| ``[K]``."""
        if context is None:
            raise ValueError("ContextLinear needs a context")
        log_diagonal = context @ self.log_diagonal
        below = torch.tensordot(context, self.below.tril(-1), 1)
        return below + torch.diag_embed(log_diagonal.exp()), context @ self.shift, log_diagonal.sum(1)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        # One context is a block of all rows. An exported program asks no further: their number is free there.
        if context is not None and len(context) > 1 and len(context) == len(x):
            return self._forward_row_by_row(x, context)
        matrix, shift, log_det = self._parameters_for(context)
        z = torch.baddbmm(shift[:, None], in_blocks(x, len(shift)), matrix.mT)
        return z.flatten(0, 1), log_det.repeat_interleave(x.shape[0] // len(shift))

    def _forward_row_by_row(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        # A matrix for every row would take C times the memory of what all contexts make of all rows.
        of_every = torch.einsum("bj,kij->bki", x, self.below.tril(-1))
        log_diagonal = context @ self.log_diagonal
        z = (context[:, :, None] * of_every).sum(1) + x * log_diagonal.exp() + context @ self.shift
        return z, log_diagonal.sum(1)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if context is None:
            raise ValueError("ContextLinear needs a context")
        # Contexts are few, rows many: each matrix is made and solved for once.
        different, which = context.unique(dim=0, return_inverse=True)
        which = which.repeat_interleave(len(z) // max(len(context), 1))
        matrix, shift, log_det = self._parameters_for(different)
        x = torch.empty_like(z)
        for k in range(len(different)):
            rows = which == k
            x[rows] = torch.linalg.solve_triangular(matrix[k], (z[rows] - shift[k]).T, upper=False).T
        return x, -log_det[which]
