"""Muon for the weights of nets, Adam for all else: on images a third of Adam's steps give the same density."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

_MOMENTUM = 0.95
# Newton-Schulz: five rounds of this odd polynomial bring all singular values near 1.
_ROUNDS = 5
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)


def orthogonalized(matrices: Tensor) -> Tensor:
    """Return U Vᵀ of matrices U S Vᵀ, ``[N, rows, columns]``, up to singular values between about 0.7 and 1.2.

    Reference: Jordan et al., Muon (2024).
    """
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    x = wide / (torch.linalg.matrix_norm(wide, keepdim=True) + 1e-12)
    a, b, c = _POLYNOMIAL
    for _ in range(_ROUNDS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if wide is matrices else x.mT


class Muon(torch.optim.AdamW):
    """AdamW, but for groups with ``orthogonal`` set: there the momentum moves a weight by an orthogonal matrix.

    Unlike torch's own Muon it takes convolutions too, and all weights of one shape at once: on a CPU that is several
    times faster.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        for group in self.param_groups:
            if group["orthogonal"]:
                for same_shape in _by_shape(group["params"]):
                    self._move(same_shape, group["lr"], group["weight_decay"])
        return super().step(closure)  # passes over what has no gradient left

    def _move(self, weights: list[nn.Parameter], rate: float, decay: float) -> None:
        for weight in weights:
            if not self.state[weight]:
                # AdamW looks for a step in whatever state there is.
                self.state[weight] = {"step": torch.zeros(()), "momentum": torch.zeros_like(weight)}
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        momenta = [self.state[weight]["momentum"] for weight in weights]
        torch._foreach_lerp_(momenta, gradients, 1 - _MOMENTUM)
        ahead = _flat(gradients).lerp(_flat(momenta), _MOMENTUM)  # Nesterov's
        updates = orthogonalized(ahead)
        tall = max(1.0, updates.shape[1] / updates.shape[2]) ** 0.5  # the same change of the outputs for any shape
        for weight, update in zip(weights, updates, strict=True):
            weight.mul_(1 - rate * decay).add_(update.view_as(weight), alpha=-rate * tall)
            weight.grad = None


def _flat(weights: list[Tensor]) -> Tensor:
    return torch.stack([weight.flatten(1) for weight in weights])


def _by_shape(parameters: list[nn.Parameter]) -> list[list[nn.Parameter]]:
    groups: defaultdict[torch.Size, list[nn.Parameter]] = defaultdict(list)
    for parameter in parameters:
        if parameter.grad is not None:
            groups[parameter.shape].append(parameter)
    return list(groups.values())
