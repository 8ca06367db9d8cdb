"""Labels spread along a graph of nearest neighbours: a first guess of the classes of many rows."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from scnf.training.neighbors import nearest_neighbors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SPREAD = 0.99  # how much of a row's classes comes from its neighbours in a round
_ROUNDS = 100
# Then the classes of all rows are made surer, and spread a little further, again and again.
_SHARPENINGS, _SPREAD_OF_SURE, _ROUNDS_OF_SURE = 5, 0.9, 10


def spread_labels(x: Tensor, y: Tensor, classes: int) -> Tensor:
    """Return how much each row is of each class, ``[N, K]``, rows adding up to 1.

    The graph joins a row ``[N, ...]`` with its nearest neighbours by weights that fall with the distance. A row that no
    label reaches is of all classes alike.
    References: Zhou et al., Learning with Local and Global Consistency (2004); spread and sharpened in turns: Garcia-
    Cardona et al., Multiclass Data Segmentation using Diffuse Interface Methods on Graphs (2014).
    """
    graph = _graph(*nearest_neighbors(x))
    labels = torch.zeros(len(y), classes)
    known = (y >= 0).nonzero()[:, 0]
    labels[known, y[known]] = 1.0
    shares = labels.sum(0) / len(known)
    guess = _balanced(_spread(graph, labels, labels, _SPREAD, _ROUNDS), shares)
    for _ in range(_SHARPENINGS):
        # A row is nearly sure of its class: so classes grow along the data instead of fading with the distance.
        sure = _sharpened(guess)
        sure[known] = labels[known]
        guess = _balanced(_spread(graph, guess, sure, _SPREAD_OF_SURE, _ROUNDS_OF_SURE), shares)
    guess = _sharpened(guess)
    return guess.where(guess.sum(1, keepdim=True) > 0, 1 / classes)


def _spread(graph: "csr_array", start: Tensor, source: Tensor, share: float, rounds: int) -> Tensor:
    """Return what rows are told by their neighbours, and theirs by their own, while each keeps a part of its source."""
    spread, kept = start.numpy(), (1 - share) * source.numpy()
    for _ in range(rounds):
        spread = share * (graph @ spread) + kept
    return torch.from_numpy(spread)


def _balanced(guess: Tensor, shares: Tensor) -> Tensor:
    """Return each row's classes, such that of all rows about as many are of a class as of the labelled ones.

    Otherwise a class that lies between others grows at their cost.
    """
    rows = _to_one(guess)
    return _to_one(rows * (shares / rows.sum(0).clamp(min=1e-30)))


def _sharpened(guess: Tensor) -> Tensor:
    """Return shares of the classes, squared: tails that reach far keep their order and lose most of their weight."""
    return _to_one(guess**2)


def _to_one(guess: Tensor) -> Tensor:
    """Return rows that add up to 1, or 0 where no label has reached."""
    return guess / guess.sum(1, keepdim=True).clamp(min=1e-30)


def _graph(distances: Tensor, neighbors: Tensor) -> "csr_array":
    """Return the symmetric, normalised weights of the neighbours, ``[N, N]``."""
    from scipy.sparse import coo_array, diags_array  # noqa: PLC0415 (slow to import, and few recipes need it)

    # What is near depends on how dense the rows are around both ends.
    size = distances[:, -1:]
    weights = (-distances / (size * size[neighbors, 0]).sqrt().clamp(min=1e-12)).exp()
    count = len(neighbors)
    rows = torch.arange(count)[:, None].expand_as(neighbors)
    ends = (rows.flatten().numpy(), neighbors.flatten().numpy())
    one_way = coo_array((weights.flatten().numpy(), ends), shape=(count, count)).tocsr()
    both = one_way.maximum(one_way.T)
    degree = diags_array(both.sum(axis=1).clip(min=1e-12) ** -0.5)
    return (degree @ both @ degree).tocsr()
