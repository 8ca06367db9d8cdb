"""Which rows are alike: nearest neighbours, where images are near if what they show is."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from scnf.training.bending import bending_distances
from scnf.training.edges import FINE_ENOUGH, SMALLEST_SIDE, describe_edges
from scnf.training.upright import set_upright

_COMPONENTS = 100
_NEIGHBORS = 7
_NEIGHBORS_BY_BENDING = 5  # fewer: of the nearest in two ways these are the most alike
_FEW_CELLS = 5  # to a side: what is written needs smaller ones, clothes are told by larger ones
_ROWS_AT_A_TIME = 64
_COLUMNS_OF_A_GROUP = 64


def nearest_neighbors(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the squared distances of the nearest rows and which they are, ``[N, neighbours]`` each, nearest first.

    Rows ``[N, ...]`` are near by their principal components, images large enough by where they have edges of which
    direction. Fine images that are near by small strokes when set upright, or by large strokes as they are, are ranked
    by how well one can be bent into the other.
    """
    found = [_nearest(points) for points in _views(x)]
    return found[0] if len(found) == 1 else _ranked_by_bending(x, torch.cat([rows for _, rows in found], 1))


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


def _nearest(points: Tensor) -> tuple[Tensor, Tensor]:
    """Return the squared distances of the nearest points and which they are, nearest first."""
    count = min(_NEIGHBORS, len(points) - 1)
    squares = points.square().sum(1)
    found = []
    for start in range(0, len(points), _ROWS_AT_A_TIME):
        some = points[start : start + _ROWS_AT_A_TIME]
        further = torch.addmm(squares, some, points.T, alpha=-2)  # than the row is from the origin
        further[torch.arange(len(some)), start + torch.arange(len(some))] = torch.inf  # no row is its own neighbour
        found.append(_smallest(further, count))
    distances, neighbors = (torch.cat([part[i] for part in found]) for i in (0, 1))
    return (distances + squares[:, None]).clamp(min=0), neighbors


def _ranked_by_bending(images: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest of the candidates ``[N, M]`` by their bending distances, as ``_nearest`` does.

    A row is a candidate of its candidates, too.
    """
    count = len(images)
    ends = torch.stack([torch.arange(count)[:, None].expand_as(candidates), candidates], 2).flatten(0, 1)
    low, high = ends.amin(1), ends.amax(1)
    numbers = torch.unique(low * count + high)
    low, high = numbers // count, numbers % count
    distances = bending_distances(images, torch.stack([low, high], 1)).repeat(2)
    rows, others = torch.cat([low, high]), torch.cat([high, low])
    order = distances.argsort()
    order = order[rows[order].argsort(stable=True)]  # by row, and of a row by distance
    first = torch.searchsorted(rows[order], torch.arange(count))
    nearest = order[first[:, None] + torch.arange(min(_NEIGHBORS_BY_BENDING, count - 1))]
    return distances[nearest], others[nearest]
