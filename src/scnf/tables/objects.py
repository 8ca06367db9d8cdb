"""Columns of Python objects: which of a table's types they are."""

import math
from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np

_INT64 = np.iinfo(np.int64)


class UnusableError(ValueError):
    """Why a column can be no part of a table; the sentence begins with the column's name."""


def is_missing(value: Any) -> bool:
    """Tell None, NaN and the missing values of other libraries."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def column_of_objects(values: np.ndarray) -> np.ndarray:
    """Return objects as int64, float64, bool, or as objects that are str (or bool) and None.

    Names beside numbers are all taken for names.
    """
    cells = [None if is_missing(value) else _plain(value, row) for row, value in enumerate(values.tolist())]
    present = [cell for cell in cells if cell is not None]
    kinds = {type(cell) for cell in present}
    if not present:
        return np.full(len(cells), np.nan)
    if kinds == {bool}:
        return np.array(cells, dtype=bool if len(present) == len(cells) else object)
    whole = [cell for cell in present if isinstance(cell, int)]
    if kinds == {int} and len(whole) == len(cells) and _INT64.min <= min(whole) and max(whole) <= _INT64.max:
        return np.array(cells, dtype=np.int64)
    if kinds <= {int, float}:
        try:
            return np.array([math.nan if cell is None else float(cell) for cell in cells])
        except OverflowError:
            raise UnusableError("holds a whole number of more than 308 digits") from None
    return np.array([None if cell is None else str(cell) for cell in cells], dtype=object)


def numbers_of_texts(texts: np.ndarray) -> np.ndarray:
    """Return texts as numbers if all of them are, empty ones as missing, else as they are."""
    numbers = [parse_number(text) if text is not None and text.strip() else None for text in texts.tolist()]
    wrong = any(n is None and t is not None and t.strip() for n, t in zip(numbers, texts.tolist(), strict=True))
    if wrong or all(number is None for number in numbers):
        return texts
    return column_of_objects(np.array(numbers, dtype=object))


def parse_number(text: str) -> int | float | None:
    """Return the number that a text is, a whole one with all its digits; None if it is none."""
    if "_" in text:  # Python reads 1_000, people do not write it
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _plain(value: Any, row: int) -> bool | int | float | str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    # decimal.Decimal is no Real, for reasons that do not matter here.
    if isinstance(value, Real) or type(value).__name__ == "Decimal":
        return float(value)
    if isinstance(value, date | time | timedelta):
        raise UnusableError(
            f"holds dates or times (row {row + 1}: {value}); turn it into numbers, such as days since a start, "
            "or leave the column out"
        )
    raise UnusableError(f"holds a value of type {type(value).__name__} in row {row + 1}, neither a number nor a name")
