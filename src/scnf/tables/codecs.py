"""How a column of each kind becomes components of a row, and how these become a column again."""

from typing import NamedTuple

import numpy as np

from scnf.errors import UserError
from scnf.tables.cells import Cells, log_normal
from scnf.tables.incoming import as_texts
from scnf.tables.matching import missing_in, none_where, numbers_of, truths_of, whole_numbers_of
from scnf.tables.scaling import forward, inverse
from scnf.tables.schema import CategoryColumn, Column, ConstantColumn, NumberColumn
from scnf.tables.table import Table

_FAR = 2.0**62  # beyond it a sampled whole number would not fit int64


class Noise:
    """What is drawn for one column, by a seed; without one, the middle of all that could be drawn."""

    def __init__(self, seed: int | None, column: int):
        self._rng = None if seed is None else np.random.default_rng([seed, column])

    def uniform(self, n: int) -> np.ndarray:
        """Return values between 0 and 1."""
        return np.full(n, 0.5) if self._rng is None else self._rng.random(n)

    def normal(self, n: int) -> np.ndarray:
        """Return values of the standard normal distribution."""
        return np.zeros(n) if self._rng is None else self._rng.standard_normal(n)


class Encoded(NamedTuple):
    """Components of rows ``[N, components]`` and the log-volume of each row's encoding ``[N]``."""

    z: np.ndarray
    log_volume: np.ndarray


class NumberCodec:
    """One component by the column's scaling; gaps are filled with normal noise and told by a second component.

    A gap's noise is none of the data, so its own density q is taken off: log p(z) − log q is a lower bound of what the
    model gives to "missing", as with dequantisation.
    """

    def __init__(self, column: NumberColumn):
        self.column = column
        self._gaps = _gap_cells(column.missing)
        self.components = 1 + (self._gaps is not None)

    def encode(self, table: Table, name: str, noise: Noise) -> Encoded:
        """Return the components of a column of a table."""
        whole, scaling = self.column.kind == "integer", self.column.scaling
        values = whole_numbers_of(table, name) if whole else numbers_of(table, name)
        missing = missing_in(values)
        if self._gaps is None and missing.any():
            row = int(missing.argmax())
            raise UserError(f"{table.place(name, row)}: the value is missing, but training had no missing value there")
        filled = np.where(missing, values.dtype.type(scaling.center), values) if missing.any() else values
        z, volume = forward(scaling, filled, noise.uniform(len(values)) if whole else 0.0)
        if whole:
            center, slope = forward(scaling, filled, 0.5)
            # In float32 a value near the edge of its cell may round into the next one.
            moved = np.floor(inverse(scaling, z.astype(np.float32))) != np.floor(inverse(scaling, center))
            z, volume = np.where(moved, center, z), np.where(moved, slope, volume)
        if self._gaps is None:
            return Encoded(z[:, None], volume)
        fill = noise.normal(len(values))
        z, volume = np.where(missing, fill, z), np.where(missing, -log_normal(fill), volume)
        gap, gap_volume = into_cells(self._gaps, missing.astype(np.int64), noise)
        return Encoded(np.stack([z, gap], axis=1), volume + gap_volume)

    def decode(self, z: np.ndarray) -> np.ndarray:
        """Return the column of components ``[N, components]``."""
        scaling = self.column.scaling
        offsets = inverse(scaling, z[:, 0])
        if self.column.kind == "integer":
            offsets = np.floor(offsets)
        if self.column.type == "int64" and self._gaps is None:
            return np.clip(offsets, -_FAR, _FAR).astype(np.int64) + int(scaling.center)
        values = offsets + float(scaling.center)
        if self._gaps is not None:
            values[self._gaps.inverse(z[:, 1]) == 1] = np.nan
        return values


class CategoryCodec:
    """One component in cells, one cell for each category and a last one for all that training did not have."""

    components = 1

    def __init__(self, column: CategoryColumn):
        self.column = column
        self._cells = Cells(np.array([*column.counts, 1], dtype=np.float64))
        self._code = {value: code for code, value in enumerate(column.values)}
        if column.type == "text":
            # A file may spell truth in another way than the one that was learned from.
            for value in list(self._code):
                if isinstance(value, str) and value.lower() in ("true", "false"):
                    self._code.setdefault(value.capitalize(), self._code[value])

    def encode(self, table: Table, name: str, noise: Noise) -> Encoded:
        """Return the component of a column of a table."""
        z, volume = into_cells(self._cells, self.codes(table, name), noise)
        return Encoded(z[:, None], volume)

    def codes(self, table: Table, name: str) -> np.ndarray:
        """Return the number of each value's category; that of a new value is the number of categories."""
        other, get = len(self.column.values), self._code.get
        return np.array([get(value, other) for value in self._values(table, name).tolist()], dtype=np.int64)

    def decode(self, z: np.ndarray) -> np.ndarray:
        """Return the column of components ``[N, 1]``; the rarest category stands for all that training did not have."""
        codes = np.minimum(self._cells.inverse(z[:, 0]), len(self.column.values) - 1)
        values = np.array(self.column.values, dtype=object)[codes]
        if self.column.type == "text" or (self.column.type == "bool" and None in self.column.values):
            return values
        if None in self.column.values:
            return np.array([np.nan if value is None else float(value) for value in values.tolist()])
        return values.astype(self.column.type)

    def _values(self, table: Table, name: str) -> np.ndarray:
        if self.column.type == "text":
            return as_texts(table.columns[name])
        if self.column.type == "bool":
            return truths_of(table, name)
        numbers = numbers_of(table, name)
        return none_where(missing_in(numbers), numbers)


class ConstantCodec:
    """No component but the one that tells gaps; a value other than the one of training is taken for it."""

    def __init__(self, column: ConstantColumn):
        self.column = column
        self._gaps = _gap_cells(column.missing)
        self.components = int(self._gaps is not None)

    def encode(self, table: Table, name: str, noise: Noise) -> Encoded:
        """Return the components of a column of a table."""
        missing = missing_in(table.columns[name])
        if self._gaps is None:
            return Encoded(np.empty((len(missing), 0)), np.zeros(len(missing)))
        z, volume = into_cells(self._gaps, missing.astype(np.int64), noise)
        return Encoded(z[:, None], volume)

    def decode(self, z: np.ndarray) -> np.ndarray:
        """Return the column of components ``[N, components]``."""
        value = np.nan if self.column.value is None else self.column.value
        if self._gaps is None:
            return np.full(len(z), value, dtype=object if isinstance(value, str) else type(value))
        return np.where(self._gaps.inverse(z[:, 0]) == 1, np.nan, float(value))


Codec = NumberCodec | CategoryCodec | ConstantCodec


def codec_of(column: Column) -> Codec:
    """Return the codec of a column's kind."""
    if isinstance(column, NumberColumn):
        return NumberCodec(column)
    return CategoryCodec(column) if isinstance(column, CategoryColumn) else ConstantCodec(column)


def into_cells(cells: Cells, codes: np.ndarray, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Return z and log dz/du of codes, such that float32 still tells the code."""
    z, slope = cells.forward(codes, noise.uniform(len(codes)))
    moved = cells.inverse(z.astype(np.float32)) != codes
    center, center_slope = cells.forward(codes, np.full(len(codes), 0.5))
    return np.where(moved, center, z), np.where(moved, center_slope, slope)


def _gap_cells(missing: float | None) -> Cells | None:
    return None if missing is None else Cells(np.array([1 - missing, missing]))
