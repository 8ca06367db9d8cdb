"""What a model says of an excerpt of rows, in one pass, for all sections of a report."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scnf.data.labels import UNLABELED
from scnf.evaluation.metrics import rows_in_a_batch
from scnf.latents import latents_of
from scnf.modelfile import TrainedModel
from scnf.reporting.material import RowSet

# So many rows of a table, fewer of larger rows: a report is to take about a minute on one core.
_MOST_ROWS, _MOST_VALUES, _FEWEST_ROWS = 4000, 2**20, 500


@dataclass(frozen=True)
class Judged:
    """Rows, of how many they are an excerpt, and log p(x, y) ``[N, K]`` of them."""

    trained: TrainedModel
    rows: RowSet
    total: int
    log_joint: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Calibrated probabilities of the classes ``[N, K]``."""
        return softmax(self.log_joint / self.trained.temperature)

    @cached_property
    def z_f(self) -> np.ndarray:
        """What f makes of the rows, as far as h takes it in ``[N, d]``."""
        return latents_of(self.trained, self.rows.x, "z_f").double().numpy()

    @cached_property
    def log_density(self) -> np.ndarray:
        """Log p(x) ``[N]``, −∞ where it overflowed."""
        density = np.logaddexp.reduce(self.log_joint, axis=1)
        return np.where(np.isnan(density), -np.inf, density)

    @cached_property
    def predicted(self) -> np.ndarray:
        """The most probable class ``[N]``."""
        return self.log_joint.argmax(1)

    @cached_property
    def told(self) -> np.ndarray:
        """Whether the model could say anything of a row ``[N]``."""
        return np.isfinite(self.log_joint).all(1)

    @property
    def labelled(self) -> np.ndarray:
        """Whether a row has a label ``[N]``, be it one that the model does not know."""
        return self.rows.codes != UNLABELED

    @property
    def excerpt_words(self) -> str:
        """A sentence about the excerpt, empty where it is all rows."""
        if len(self) == self.total:
            return ""
        return f"Looked at are {len(self):,} of the {self.total:,} {self.rows.kind} rows, evenly spread."


def judge(trained: TrainedModel, rows: RowSet) -> Judged:
    """Pass an excerpt of rows through the model."""
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // trained.model.dimensions))
    part = rows.excerpt(most)
    size = rows_in_a_batch(trained.model.dimensions)
    parts: list[Any] = [
        trained.log_joint(part.x[start : start + size], seed=number).double().numpy()
        for number, start in enumerate(range(0, len(part), size))
    ]
    return Judged(trained, part, len(rows), np.concatenate(parts))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return exp(scores) that sum to 1 over the last axis."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
