"""An exponential moving average of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Averages a module's parameters; ``applied`` puts the average in their place for a while."""

    def __init__(self, module: nn.Module, decay: float):
        self.parameters = list(module.parameters())
        self.average = [parameter.detach().clone() for parameter in self.parameters]
        self.decay = decay

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the parameters after a step; early steps count more, so the random start is soon forgotten."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.average, [p.detach() for p in self.parameters], 1 - decay)

    @torch.no_grad()
    def take_over(self) -> None:
        """Put the average in the place of the parameters for good."""
        torch._foreach_copy_([p.detach() for p in self.parameters], self.average)

    @torch.no_grad()
    def begin_anew(self) -> None:
        """Let the average begin with the parameters as they are."""
        torch._foreach_copy_(self.average, [p.detach() for p in self.parameters])

    @torch.no_grad()
    def _swap(self) -> None:
        for parameter, average in zip(self.parameters, self.average, strict=True):
            held: Tensor = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(held)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Evaluate with the averaged weights; training goes on with its own."""
        self._swap()
        try:
            yield
        finally:
            self._swap()
