"""How far what a file says lies from what the model says."""

import copy
import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from scnf.bijections import FFJORD
from scnf.data.batches import middles
from scnf.errors import UserError
from scnf.export.layers import has_adaptive_solver
from scnf.model import SemiConditionalFlow
from scnf.modelfile import TrainedModel

Told = tuple[Tensor, Tensor]  # probabilities and log-densities

ROWS = 64  # that a file is checked with
_NOISE = 0.3  # in standard deviations of the samples
_TOLERANCE = 1e-8  # of adaptive solvers


class Difference(NamedTuple):
    """The largest difference of probabilities, and of log-densities as a share of what the model says.

    A log-density below one nat a value counts as that: it may well be 0.
    """

    probability: float
    log_density: float

    def within(self, limit: "Difference") -> bool:
        """Tell whether both are; what is not a number is not."""
        return self.probability <= limit.probability and self.log_density <= limit.log_density


LIMIT = Difference(probability=1e-3, log_density=1e-4)


class Expectation:
    """Rows that look like data, and what the model says of them.

    They are samples of the model, every other one with noise: on rows that are nothing but noise the posterior is
    nearly always sure, and a mistake would not show. The model is taken in 64 bits and its ODEs are solved closely, so
    that it is the file that is judged, not the solver.
    """

    def __init__(self, trained: TrainedModel):
        self.rows = _rows_like_data(trained)
        levels, rows = trained.levels, self.rows.double()
        log_joint = _closely_solved(trained).log_joint(rows if levels is None else middles(rows, levels))
        self._dimensions = trained.model.dimensions
        self._probabilities = (log_joint / trained.temperature).softmax(1)
        self._log_density = log_joint.logsumexp(1) - (0.0 if levels is None else self._dimensions * math.log(levels))

    def difference(self, told: Told) -> Difference:
        """Return how far what is told of the rows lies from it."""
        probabilities, log_density = told
        size = self._log_density.abs().clamp(min=self._dimensions)
        return Difference(
            float((probabilities - self._probabilities).abs().max()),
            float(((log_density - self._log_density).abs() / size).max()),
        )


def refuse_if_far(difference: Difference, path: Path) -> None:
    """Refuse a file that says something else than the model."""
    if difference.within(LIMIT):
        return
    raise UserError(
        f"{path} is not written: it would differ from the model by {difference.probability:.2g} in probability "
        f"(limit {LIMIT.probability:g}) and by {difference.log_density:.2g} of the log-density "
        f"(limit {LIMIT.log_density:g})"
    )


def _rows_like_data(trained: TrainedModel) -> Tensor:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x = trained.model.sample(ROWS)[0]
        x[1::2] += _NOISE * x.std(0) * torch.randn_like(x[1::2])
    if trained.levels is None:
        return x
    return (x * trained.levels).floor().clamp(0, trained.levels - 1)


def _closely_solved(trained: TrainedModel) -> SemiConditionalFlow:
    model = copy.deepcopy(trained.model).double().eval()
    for layer in model.modules():
        if isinstance(layer, FFJORD) and has_adaptive_solver(layer):
            layer.rtol = layer.atol = _TOLERANCE
    return model
