"""Which rows to label next: those whose labels are expected to mend the most mistakes."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

_NEIGHBOURS = 10


class LabelNext(NamedTuple):
    """Rows in the order in which to label them, and what each is expected to bring beyond those before it."""

    rows: np.ndarray
    gains: np.ndarray


def expected_wrong(probabilities: np.ndarray) -> np.ndarray:
    """Return the probability ``[N]`` that the most probable class of each row is wrong."""
    return 1 - probabilities.max(1)


def label_next(z: np.ndarray, wrong: np.ndarray, count: int) -> LabelNext:
    """Choose rows to label by the number of mistakes that their labels are expected to mend.

    Rows that are alike are taken to be mistaken together: the label of row i mends row j with the probability
    w_ij min(wrong_i, wrong_j), where w_ij = max(0, 1 − |z_i − z_j|² / r²) tells how alike they are. A set S of labels
    then mends Σ_j max_{i∈S} w_ij min(wrong_i, wrong_j), never more than the Σ_j wrong_j that are expected. Rows are
    chosen greedily by what each adds to that sum, so a near-duplicate of a chosen row, which adds next to nothing, is
    passed over. The radius r is the median distance to the tenth neighbour.

    Reference: the product of uncertainty and density is that of Settles and Craven, An Analysis of Active Learning
    Strategies for Sequence Labeling Tasks (2008); greedy choice is within 1 − 1/e of the best set (Nemhauser, Wolsey
    and Fisher, 1978).

    Args:
        z: where the rows are, such as their z_f, ``[N, d]``.
        wrong: the probability that the model is wrong about each, ``[N]``.
        count: how many rows to choose.

    Example:
        >>> import numpy as np
        >>> z = np.array([[0.0], [0.0], [9.0]])  # the first two are one and the same
        >>> label_next(z, np.array([0.4, 0.4, 0.3]), 2).rows.tolist()
        [0, 2]
    """
    alike = (1 - (pairwise_distances(z) / _radius(z)) ** 2).clip(0)
    worth = np.minimum(wrong[:, None], wrong) * alike
    covered = np.zeros(len(z))
    rows: list[int] = []
    gains: list[float] = []
    for _ in range(min(count, len(z))):
        added = (worth - covered).clip(0).sum(1)
        added[rows] = -1.0
        best = int(added.argmax())
        rows.append(best)
        gains.append(float(added[best]))
        covered = np.maximum(covered, worth[best])
    return LabelNext(np.array(rows, dtype=int), np.array(gains))


def _radius(z: np.ndarray) -> float:
    """Return the median distance to the tenth neighbour; where rows repeat so often that it is 0, a small one."""
    if len(z) < 2:
        return 1.0
    neighbours = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(z) - 1)).fit(z)
    radius = float(np.median(neighbours.kneighbors()[0][:, -1]))
    return radius or 1e-9
