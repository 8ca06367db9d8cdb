"""Columns of a table as normal components with fresh noise: the rows that a hider learns from and lets go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scnf.errors import UserError
from scnf.tables import Table
from scnf.tables.cells import Cells
from scnf.tables.matching import missing_in, none_where

_BINS = 32


@dataclass(frozen=True)
class _Column:
    """A column's values, or the edges of its bins, in the order of their cells."""

    edges: np.ndarray | None  # of bins of numbers; None for categories
    values: Mapping[Any, int]  # categories and None, which stands for all that training did not have
    places: np.ndarray  # of bin or category in the order of the cells
    cells: Cells

    def as_in_training(self, values: np.ndarray) -> np.ndarray:
        """Return values in the type of training where nothing but gaps, more or fewer, made it another."""
        missing = missing_in(values)
        if self.edges is None and (missing.all() or (values.dtype == bool and self.values.keys() & {True, False})):
            return none_where(missing, values)
        names = self.edges is not None and values.dtype == object
        if names and all(isinstance(value, bool) for value in values[~missing].tolist()):
            return np.where(missing, np.nan, values).astype(np.float64)
        return values

    def components(self, values: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return self.cells.forward(self.places[_codes(values, self.edges, self.values)], noise)[0]


class OrderedCells:
    """Every column becomes one standard normal component: z = Φ⁻¹(share of rows below its cell + u · share of it).

    Numbers fall into at most 32 bins in their order (a value that many rows have is a bin of its own), gaps into one
    more. Categories stand in the order of ``by``, the mean of what is to be told from them, or from the most frequent
    down. The noise u is drawn anew for every table: what comes out tells the cell, and not which row it was.

    Example:
        >>> import numpy as np
        >>> table = Table({"size": np.arange(100.0), "kind": np.array(["a", "b"] * 50, dtype=object)})
        >>> z = OrderedCells(table).encode(table, np.random.default_rng(0))
        >>> z.shape, bool((z[::2, 1].max() < z[1::2, 1].min()))
        ((100, 2), True)
    """

    def __init__(self, table: Table, by: np.ndarray | None = None):
        for name in table.unusable:
            table.select([name])  # says why
        if not len(table):
            raise UserError("the table holds no rows")
        self.names = table.names
        self._columns = [_column(table.columns[name], by) for name in self.names]

    def encode(self, table: Table, rng: np.random.Generator) -> np.ndarray:
        """Return the components ``[N, columns]`` in float32, with fresh noise."""
        chosen = table.select(self.names)
        parts = []
        for name, column in zip(self.names, self._columns, strict=True):
            values = column.as_in_training(chosen.columns[name])
            if (column.edges is None) != (values.dtype == object):
                kinds = ("names", "numbers") if column.edges is None else ("numbers", "names")
                raise UserError(f"{table.place(name)} held {kinds[0]} in training, but here it holds {kinds[1]}")
            parts.append(column.components(values, rng.random(len(chosen))))
        return np.stack(parts, axis=1).astype(np.float32)


def _column(values: np.ndarray, by: np.ndarray | None) -> _Column:
    edges = None if values.dtype == object else _edges(values.astype(np.float64))
    known = {} if edges is not None else {value: i for i, value in enumerate(dict.fromkeys([None, *values.tolist()]))}
    codes = _codes(values, edges, known)
    counts = np.bincount(codes, minlength=len(known) if edges is None else len(edges) + 2)
    order = np.arange(len(counts))
    if edges is None:
        sums = -counts if by is None else np.bincount(codes, by, len(counts)) / np.maximum(counts, 1)
        order = np.argsort(sums, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    # What training did not have needs a place too.
    return _Column(edges, known, places, Cells(np.maximum(counts, 1)[order].astype(np.float64)))


def _edges(values: np.ndarray) -> np.ndarray:
    """Return the edges between bins of about equally many rows; what many rows have is a bin of its own."""
    present = values[~np.isnan(values)]
    edges = np.unique(np.quantile(present, np.arange(1, _BINS) / _BINS)) if len(present) else np.empty(0)
    frequent = [edge for edge in edges.tolist() if (present == edge).mean() > 1 / _BINS]
    return np.unique(np.concatenate([edges, np.nextafter(frequent, np.inf)]))


def _codes(values: np.ndarray, edges: np.ndarray | None, known: Mapping[Any, int]) -> np.ndarray:
    """Return the number of each value's bin or category; 0 is a gap, or what training did not have."""
    if edges is None:
        return np.array([known.get(value, 0) for value in values.tolist()], dtype=np.int64)
    numbers = values.astype(np.float64)
    return np.where(missing_in(numbers), 0, 1 + np.searchsorted(edges, numbers, side="right"))
