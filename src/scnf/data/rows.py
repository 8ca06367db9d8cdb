"""Rows of an array, batch by batch, checked against the shape that a model expects."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scnf.errors import UserError

_BATCH = 2048


@dataclass(frozen=True)
class RowFormat:
    """What rows must look like: their shape, and the number of levels where they are integers."""

    shape: tuple[int, ...]
    levels: int | None = None

    @property
    def columns(self) -> int:
        """Number of values in a row."""
        return math.prod(self.shape)


def array_rows(
    source: str, array: np.ndarray, expected: RowFormat, first_row: int = 0, names: Sequence[str] = ()
) -> Iterator[np.ndarray]:
    """Yield batches ``[B, *shape]`` in float32; the first thing that is wrong is refused by row and column.

    ``source`` is what messages call the array, ``first_row`` the number of its first row there and ``names`` those of
    its columns.
    """
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise UserError(f"{source} holds values of type {array.dtype}, not numbers")
    shape = expected.shape
    # One channel may go without saying.
    allowed = {shape, (expected.columns,), shape[1:] if len(shape) == 3 and shape[0] == 1 else shape}
    if array.ndim < 2 or array.shape[1:] not in allowed:
        wanted = "×".join(map(str, shape))
        found = "×".join(map(str, array.shape)) or "a single number"
        raise UserError(f"{source} has shape {found}, but the model takes rows of {wanted} values (n×{wanted})")
    if not len(array):
        raise UserError(f"{source} holds no rows")
    for start in range(0, len(array), _BATCH):
        values = np.asarray(array[start : start + _BATCH]).reshape(-1, expected.columns)
        yield _checked(source, values, expected, first_row + start, names).reshape(-1, *shape)


def _checked(source: str, values: np.ndarray, expected: RowFormat, first_row: int, names: Sequence[str]) -> np.ndarray:
    with np.errstate(over="ignore"):
        rows = values.astype(np.float32)
    wrong, why = ~np.isfinite(rows), "which is not a finite number"
    if not wrong.any() and expected.levels is not None:
        wrong = (rows != np.floor(rows)) | (rows < 0) | (rows >= expected.levels)
        why = f"but the model was trained on whole numbers from 0 to {expected.levels - 1}"
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        name = f" ({names[column]})" if names else ""
        place = f"row {first_row + row + 1}, column {column + 1}{name}"
        raise UserError(f"{source}, {place}: the value is {values[row, column]:g}, {why}")
    return rows
