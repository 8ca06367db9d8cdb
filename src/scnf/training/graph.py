"""Labels spread along a graph of nearest neighbours: a first guess of the classes of many rows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize

from scnf.training.edges import FINE_ENOUGH, SMALLEST_SIDE, describe_edges
from scnf.training.upright import set_upright

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COMPONENTS = 100
_NEIGHBORS = 7
_SPREAD = 0.99  # how much of a row's classes comes from its neighbours in a round
_ROUNDS = 100
# Then the classes of all rows are made surer, and spread a little further, again and again.
_SHARPENINGS, _SPREAD_OF_SURE, _ROUNDS_OF_SURE = 5, 0.9, 10
_FEW_CELLS = 5  # to a side: what is written needs smaller ones, clothes are told by larger ones
_ROWS_AT_A_TIME = 64
_COLUMNS_OF_A_GROUP = 64


def spread_labels(x: Tensor, y: Tensor, classes: int) -> Tensor:
    """Return how much each row is of each class, ``[N, K]``, rows adding up to 1.

    The graph joins a row ``[N, ...]`` with its nearest neighbours among the principal components (of images large
    enough: of where they have edges of which direction), by weights that fall with the distance. A row that no label
    reaches is of all classes alike. Fine images have two graphs, joined: one of small strokes in the images set
    upright, one of the large strokes as they are.
    References: Zhou et al., Learning with Local and Global Consistency (2004); spread and sharpened in turns: Garcia-
    Cardona et al., Multiclass Data Segmentation using Diffuse Interface Methods on Graphs (2014).
    """
    graph = _mean([_graph(points) for points in _views(x)])
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


def _mean(graphs: Sequence["csr_array"]) -> "csr_array":
    """Return the graph of all edges, each with its mean weight."""
    return (sum(graphs[1:], graphs[0]) / len(graphs)).astype(graphs[0].dtype)


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


def _views(x: Tensor) -> Iterator[Tensor]:
    """Yield rows as points ``[N, D]`` that are near each other if the rows are alike, in one or two ways."""
    if x.dim() != 4 or min(x.shape[2:]) < SMALLEST_SIDE:
        yield _principal(x.flatten(1).float())
    elif min(x.shape[2:]) < FINE_ENOUGH:
        yield _points_of_edges(describe_edges(x))
    else:
        yield _points_of_edges(describe_edges(x, prepare=set_upright))
        yield _points_of_edges(describe_edges(x, cells=_FEW_CELLS))


def _points_of_edges(edges: Tensor) -> Tensor:
    # How strong an image's edges are says little of what it shows, and components less in which all images differ.
    points = _principal(normalize(edges))
    return points / points.std(0).clamp(min=1e-6).sqrt()


def _principal(rows: Tensor) -> Tensor:
    """Return the strongest principal components of rows, found by random projections: columns may be very many."""
    centred = rows - rows.mean(0)
    count = min(_COMPONENTS, *rows.shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        _, _, directions = torch.pca_lowrank(centred, count, center=False, niter=4)
    return centred @ directions


def _smallest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the smallest values of each row and where they are, as ``topk`` does, in a fraction of its time.

    They lie in those groups of columns whose own smallest values are the smallest.
    """
    groups = values.shape[1] // _COLUMNS_OF_A_GROUP
    if groups <= count:
        return values.topk(count, largest=False)
    grouped, rest = values.split([groups * _COLUMNS_OF_A_GROUP, values.shape[1] - groups * _COLUMNS_OF_A_GROUP], 1)
    grouped = grouped.unflatten(1, (groups, -1))
    best = grouped.amin(2).topk(count, largest=False, sorted=False).indices
    columns = best[..., None] * _COLUMNS_OF_A_GROUP + torch.arange(_COLUMNS_OF_A_GROUP)
    some = grouped.gather(1, best[..., None].expand(-1, -1, _COLUMNS_OF_A_GROUP)).flatten(1)
    last = torch.arange(groups * _COLUMNS_OF_A_GROUP, values.shape[1]).expand(len(values), -1)
    smallest, places = torch.cat([some, rest], 1).topk(count, largest=False)
    return smallest, torch.cat([columns.flatten(1), last], 1).gather(1, places)


def _graph(points: Tensor) -> "csr_array":
    """Return the symmetric, normalised weights of the neighbours, ``[N, N]``."""
    from scipy.sparse import coo_array, diags_array  # noqa: PLC0415 (slow to import, and few recipes need it)

    count = min(_NEIGHBORS, len(points) - 1)
    squares = points.square().sum(1)
    found = []
    for start in range(0, len(points), _ROWS_AT_A_TIME):
        some = points[start : start + _ROWS_AT_A_TIME]
        further = torch.addmm(squares, some, points.T, alpha=-2)  # than the row is from the origin
        further[torch.arange(len(some)), start + torch.arange(len(some))] = torch.inf  # no row is its own neighbour
        found.append(_smallest(further, count))
    distances, neighbors = (torch.cat([part[i] for part in found]) for i in (0, 1))
    distances = (distances + squares[:, None]).clamp(min=0)
    # What is near depends on how dense the rows are around both ends.
    size = distances[:, -1:]
    weights = (-distances / (size * size[neighbors, 0]).sqrt().clamp(min=1e-12)).exp()
    rows = torch.arange(len(points))[:, None].expand_as(neighbors)
    ends = (rows.flatten().numpy(), neighbors.flatten().numpy())
    one_way = coo_array((weights.flatten().numpy(), ends), shape=(len(points), len(points))).tocsr()
    both = one_way.maximum(one_way.T)
    degree = diags_array(both.sum(axis=1).clip(min=1e-12) ** -0.5)
    return (degree @ both @ degree).tocsr()
