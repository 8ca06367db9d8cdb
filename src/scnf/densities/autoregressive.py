"""An autoregressive flow that knows the label, zuko's: a density in one pass, a sample in as many as components."""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from zuko.flows import MAF, NSF

from scnf.densities.base import ClassConditional


class Autoregressive(ClassConditional):
    """A masked autoregressive flow with the label, one-hot, as its context; affine or spline steps.

    The whole flow sees the label, so log p(z | k) for all K classes takes K passes of it, and ``decode`` goes component
    by component. References: Papamakarios et al., Masked Autoregressive Flow (2017); Durkan et al., Neural Spline Flows
    (2019).

    Example:
        >>> import torch
        >>> from scnf.densities import Autoregressive
        >>> tuple(Autoregressive(features=2, classes=3, steps=1).log_prob_all(torch.randn(5, 2)).shape)
        (5, 3)
    """

    def __init__(
        self,
        features: int,
        classes: int,
        steps: int = 5,
        hidden: tuple[int, ...] = (64, 64),
        map: Literal["affine", "spline"] = "affine",
        bins: int = 8,
    ):
        super().__init__(features, classes)
        self.flow = (
            MAF(features, classes, transforms=steps, hidden_features=hidden)
            if map == "affine"
            else NSF(features, classes, bins, transforms=steps, hidden_features=hidden)
        )

    def _given(self, z: Tensor, y: Tensor) -> Any:
        return self.flow(F.one_hot(y, self.classes).to(z))

    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        log_prob: Tensor = self._given(z, y).log_prob(z)
        return log_prob

    def log_prob_all(self, z: Tensor) -> Tensor:
        y = torch.arange(self.classes, device=z.device).repeat_interleave(len(z))
        return self.log_prob(z.repeat(self.classes, 1), y).view(self.classes, len(z)).T

    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        z_h: Tensor = self._given(z, y).transform(z)
        return z_h

    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        z: Tensor = self._given(z_h, y).transform.inv(z_h)
        return z

    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        like = next(self.parameters())
        return torch.randn(n, self.features, dtype=like.dtype, device=like.device) * temperature
