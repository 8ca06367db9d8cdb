"""Rows that are kept aside: how well they are told decides which weights are kept and when a run has learned enough."""

import math
from typing import Any

import torch
from torch import Tensor

from scnf.model import SemiConditionalFlow
from scnf.recipes.schema import TrainingSpec
from scnf.training.ema import WeightAverage

_LOOKS_IN_PATIENCE = 5
_LOOKS_IN_RUN = 100
_ROWS_AT_A_TIME = 1024


class HeldOut:
    """The likelihood −log p(x) of rows ``[N, ...]`` that are never trained on, and the weights that told them best.

    No label is looked at. While the labels lead (``labelled_weight_start``) nothing is judged: what counts then is
    that classes form, not how likely the rows are.
    """

    def __init__(self, x: Tensor, spec: TrainingSpec):
        self.x, self.patience = x, spec.patience
        looks = spec.steps // _LOOKS_IN_RUN if spec.patience is None else spec.patience // _LOOKS_IN_PATIENCE
        self.every = max(looks, 1)
        self.begins = spec.labelled_decay if spec.labelled_weight_start is not None else 0.0
        self.best, self.best_step = math.inf, 0
        self.last: float | None = None
        self.weights: list[Tensor] = []

    def is_due(self, step: int, progress: float) -> bool:
        """Return whether it is time to look."""
        return progress >= self.begins and (step % self.every == 0 or progress >= 1)

    @torch.no_grad()
    def nll(self, model: SemiConditionalFlow, device: torch.device) -> float:
        """Return −log p(x), a row's mean."""
        total = sum(-float(model.log_prob(x.to(device)).double().sum()) for x in self.x.split(_ROWS_AT_A_TIME))
        return total / len(self.x)

    def take(self, step: int, nll: float, average: WeightAverage) -> bool:
        """Take in what was seen after a step, keep the weights if they are the best, and return whether to end."""
        self.last = nll if math.isfinite(nll) else None
        if nll < self.best:
            self.best, self.best_step = nll, step
            self.weights = [value.clone() for value in average.average]
        elif not self.weights:
            self.best_step = step
        return self.patience is not None and step - self.best_step >= self.patience

    def restore(self, average: WeightAverage) -> None:
        """Put the best weights in the place of the last ones."""
        for value, best in zip(average.average, self.weights, strict=False):
            value.copy_(best)

    def values(self) -> dict[str, Any]:
        """Return what a resumed run needs besides the weights."""
        best = self.best if self.weights else None
        return {"best": best, "best_step": self.best_step, "last": self.last, "kept": len(self.weights)}

    def go_on(self, values: dict[str, Any], weights: list[Tensor]) -> None:
        """Go on from what ``values`` returned."""
        self.best = math.inf if values["best"] is None else values["best"]
        self.best_step, self.last, self.weights = values["best_step"], values["last"], weights
