"""A conditional flow h(z; y) over a learnable Gaussian: SCNF-GLOW, and with an ODE conditional FFJORD."""

import torch
from torch import Tensor
from torch.nn import functional as F

from scnf.bijections import Bijection
from scnf.densities.base import ClassConditional
from scnf.densities.normal import DiagonalNormal


class ConditionalFlow(ClassConditional):
    """log p(z | y) = log|det ∂h(z; y)/∂z| + log N(h(z; y) | 0, diag σ²), the label one-hot as h's context.

    Reference: Atanov et al., SCNF (2019), section 3.3.

    Example:
        >>> import torch
        >>> from scnf.bijections import FFJORD, MLPDynamics
        >>> from scnf.densities import ConditionalFlow
        >>> density = ConditionalFlow(FFJORD(MLPDynamics(2, 16, context_features=3)), features=2, classes=3)
        >>> tuple(density.log_prob_all(torch.randn(5, 2)).shape)
        (5, 3)
    """

    def __init__(self, flow: Bijection, features: int, classes: int):
        super().__init__(features, classes)
        self.flow = flow
        self.base = DiagonalNormal(features)

    def _context(self, z: Tensor, y: Tensor) -> Tensor:
        return F.one_hot(y, self.classes).to(z)

    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        z_h, ladj = self.flow(z, self._context(z, y))
        return self.base.log_prob(z_h) + ladj

    def log_prob_all(self, z: Tensor) -> Tensor:
        # All labels in one batch of K · B rows, a block a label: one matrix product a layer, whatever K is.
        z_h, ladj = self.flow.forward_all(z, torch.eye(self.classes, dtype=z.dtype, device=z.device))
        return (self.base.log_prob(z_h) + ladj).view(self.classes, len(z)).T

    def log_prob_known(self, z: Tensor, known: Tensor) -> Tensor:
        # Pairs of a row and a class in one pass: another for few rows would take as long as one for many more.
        own, others = z.split([len(known), len(z) - len(known)])
        classes = torch.arange(self.classes, device=z.device).repeat_interleave(len(others))
        pairs = torch.cat([own, others.repeat(self.classes, 1)])
        log_prob = self.log_prob(pairs, torch.cat([known, classes]))
        of_own, of_others = log_prob.split([len(own), len(classes)])
        return torch.cat([of_own[:, None].expand(-1, self.classes), of_others.view(self.classes, len(others)).T])

    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        z_h: Tensor = self.flow(z, self._context(z, y))[0]
        return z_h

    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        return self.flow.inverse(z_h, self._context(z_h, y))[0]

    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        return self.base.sample(n, temperature)

    @torch.no_grad()
    def initialize(self, z: Tensor, y: Tensor, belongs: Tensor | None = None) -> None:
        # Rows without a label take the classes in turn: the start depends on the data and on nothing random.
        turn = torch.arange(len(y), device=y.device) % self.classes
        self.flow.initialize(z, self._context(z, torch.where(y >= 0, y, turn)))
