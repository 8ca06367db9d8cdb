"""Labels spread along a graph of nearest neighbours: a first guess of the classes of many rows, in a minute."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COMPONENTS = 50
_NEIGHBORS = 7
_SPREAD = 0.99  # how much of a row's classes comes from its neighbours in a round
_ROUNDS = 100
_ROWS_AT_A_TIME = 1000


def spread_labels(x: Tensor, y: Tensor, classes: int) -> Tensor:
    """Return how much each row is of each class, ``[N, K]``, rows adding up to 1.

    The graph joins a row ``[N, ...]`` with its nearest neighbours among the principal components, by weights that
    fall with the distance. A row that no label reaches is of all classes alike.
    Reference: Zhou et al., Learning with Local and Global Consistency (2004).
    """
    graph = _graph(_principal(x.flatten(1).float()))
    given = torch.zeros(len(y), classes)
    known = (y >= 0).nonzero()[:, 0]
    given[known, y[known]] = 1.0
    spread = labels = given.numpy()
    for _ in range(_ROUNDS):
        spread = _SPREAD * (graph @ spread) + (1 - _SPREAD) * labels
    total = (reached := torch.from_numpy(spread)).sum(1, keepdim=True)
    guess = torch.where(total > 0, reached / total.clamp(min=1e-30), 1 / classes)
    # The tails of the spread reach far: squared they keep their order and lose most of their weight.
    return guess**2 / (guess**2).sum(1, keepdim=True)


def _principal(rows: Tensor) -> Tensor:
    centred = rows - rows.mean(0)
    _, vectors = torch.linalg.eigh((centred.T @ centred).double())
    return centred @ vectors[:, -_COMPONENTS:].float()


def _graph(points: Tensor) -> "csr_array":
    """Return the symmetric, normalised weights of the neighbours, ``[N, N]``."""
    from scipy.sparse import coo_array, diags_array  # noqa: PLC0415 (slow to import, and few recipes need it)

    count = min(_NEIGHBORS, len(points) - 1)
    squares = points.square().sum(1)
    found = []
    for start in range(0, len(points), _ROWS_AT_A_TIME):
        some = points[start : start + _ROWS_AT_A_TIME]
        distances = squares - 2 * some @ points.T + squares[start : start + len(some), None]
        distances[torch.arange(len(some)), start + torch.arange(len(some))] = torch.inf  # no row is its own neighbour
        found.append(distances.topk(count, largest=False))
    distances, neighbors = (torch.cat([part[i] for part in found]) for i in (0, 1))
    distances = distances.clamp(min=0)
    # What is near depends on how dense the rows are around both ends.
    size = distances[:, -1:]
    weights = (-distances / (size * size[neighbors, 0]).sqrt().clamp(min=1e-12)).exp()
    rows = torch.arange(len(points))[:, None].expand_as(neighbors)
    ends = (rows.flatten().numpy(), neighbors.flatten().numpy())
    one_way = coo_array((weights.flatten().numpy(), ends), shape=(len(points), len(points))).tocsr()
    both = one_way.maximum(one_way.T)
    degree = diags_array(both.sum(axis=1).clip(min=1e-12) ** -0.5)
    return (degree @ both @ degree).tocsr()
