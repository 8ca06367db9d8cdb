"""How often rows are told rightly, by how sure the model is of them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reliability:
    """Mean confidence, accuracy and number of rows in bins of confidence that hold any, ``[bins]`` each."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean gap between confidence and accuracy, as a share."""
        return float((self.rows * np.abs(self.confidence - self.accuracy)).sum() / self.rows.sum())


def reliability(probabilities: np.ndarray, y: np.ndarray, bins: int = 15) -> Reliability:
    """Return how often rows are told rightly, by how sure the model is of them.

    Example:
        >>> import numpy as np
        >>> told = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
        >>> found = reliability(told, np.array([0, 1, 1]))
        >>> found.accuracy.tolist(), round(found.ece, 3)
        ([1.0, 0.5], 0.4)
    """
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == y
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    used = np.unique(bin_of)
    members = [bin_of == b for b in used]
    return Reliability(
        np.array([confidence[m].mean() for m in members]),
        np.array([correct[m].mean() for m in members]),
        np.array([int(m.sum()) for m in members]),
    )
