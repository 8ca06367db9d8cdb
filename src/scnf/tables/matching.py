"""The values of a new table's column in the type of the column that was learned from, where no value is lost by it."""

import numpy as np

from scnf.errors import UserError
from scnf.tables.incoming import as_texts
from scnf.tables.objects import column_of_objects, is_missing, parse_number
from scnf.tables.table import Table

_LARGEST = 1e300  # differences of larger ones overflow
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def numbers_of(table: Table, name: str) -> np.ndarray:
    """Return a column as int64 or float64, NaN where missing; what is infinite, too large or no number is refused."""
    values = table.columns[name]
    if values.dtype == object:
        values = _parsed(table, name, values)
    if values.dtype == bool:
        return values.astype(np.int64)
    if values.dtype == np.float64:
        wrong = np.abs(values) > _LARGEST  # false for NaN
        if wrong.any():
            row = int(wrong.argmax())
            why = f"too large; numbers may go from {-_LARGEST:g} to {_LARGEST:g}"
            why = why if np.isfinite(values[row]) else "not a finite number"
            raise UserError(f"{table.place(name, row)}: the value is {values[row]:g}, which is {why}")
    return values


def whole_numbers_of(table: Table, name: str) -> np.ndarray:
    """Return the same for a column of whole numbers."""
    values = numbers_of(table, name)
    if values.dtype == np.float64:
        wrong = np.floor(values) < values
        if wrong.any():
            row = int(wrong.argmax())
            raise UserError(
                f"{table.place(name, row)}: the value is {values[row]:g}, but the column was learned as one of whole "
                'numbers; learn it as "number" if it has fractions'
            )
    return values


def truths_of(table: Table, name: str) -> np.ndarray:
    """Return a column as objects that are True, False or None."""
    texts = as_texts(table.columns[name])
    truths: list[bool | None] = []
    for row, text in enumerate(texts.tolist()):
        truth = None if text is None else _TRUTH.get(text.strip().lower())
        if truth is None and text is not None:
            raise UserError(f"{table.place(name, row)}: {text!r} is neither true nor false")
        truths.append(truth)
    return np.array(truths, dtype=object)


def missing_in(values: np.ndarray) -> np.ndarray:
    """Return which values are missing, as a mask."""
    if values.dtype == np.float64:
        return np.isnan(values)
    if values.dtype == object:
        return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def none_where(missing: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values as objects, None where they are missing."""
    objects = values.astype(object)
    objects[missing] = None
    return objects


def _parsed(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    numbers: list[bool | int | float | None] = []
    for row, value in enumerate(values.tolist()):
        number = parse_number(value) if isinstance(value, str) and value.strip() else value
        if number is None and value is not None:
            raise UserError(f"{table.place(name, row)}: {value!r} is not a number")
        numbers.append(None if isinstance(number, str) else number)
    return column_of_objects(np.array(numbers, dtype=object))
