"""Rows from files (.npy, .npz, .csv) or arrays, batch by batch, checked against the shape a model expects."""

import csv
import itertools
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass
class _Names:
    """How to point at a value: which line of the file a row is, and what its column is called."""

    header: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def place(self, first_row: int, row: int, column: int) -> str:
        line = f" (line {self.lines[row]})" if self.lines else ""
        name = f" ({self.header[column]})" if column < len(self.header) else ""
        return f"row {first_row + row + 1}{line}, column {column + 1}{name}"


def read_rows(path: Path, expected: RowFormat) -> Iterator[np.ndarray]:
    """Yield batches ``[B, *shape]`` in float32; the first thing that is wrong is refused by file, row and column."""
    if not path.is_file():
        raise UserError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    readers = {".npy": _read_array, ".npz": _read_array, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise UserError(f"cannot read {path}: its name must end in .npy, .npz or .csv")
    yield from _all_checked(path, readers[path.suffix.lower()](path, expected), expected)


def array_rows(name: str, array: np.ndarray, expected: RowFormat) -> Iterator[np.ndarray]:
    """Yield batches of an array in the same way; ``name`` stands for the file in what is said of it."""
    yield from _all_checked(name, _array_batches(name, array, expected), expected)


def _all_checked(
    source: Path | str, batches: Iterator[tuple[np.ndarray, _Names]], expected: RowFormat
) -> Iterator[np.ndarray]:
    first_row = 0
    for values, names in batches:
        yield _checked(source, values, expected, names, first_row).reshape(-1, *expected.shape)
        first_row += len(values)
    if not first_row:
        raise UserError(f"{source} holds no rows")


def _checked(source: Path | str, values: np.ndarray, expected: RowFormat, names: _Names, first_row: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        rows = values.astype(np.float32)
    wrong, why = ~np.isfinite(rows), "which is not a finite number"
    if not wrong.any() and expected.levels is not None:
        wrong = (rows != np.floor(rows)) | (rows < 0) | (rows >= expected.levels)
        why = f"but the model was trained on whole numbers from 0 to {expected.levels - 1}"
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        place = names.place(first_row, row, column)
        raise UserError(f"{source}, {place}: the value is {values[row, column]:g}, {why}")
    return rows


def _read_array(path: Path, expected: RowFormat) -> Iterator[tuple[np.ndarray, _Names]]:
    return _array_batches(path, _load_array(path), expected)


def _array_batches(source: Path | str, array: np.ndarray, expected: RowFormat) -> Iterator[tuple[np.ndarray, _Names]]:
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise UserError(f"{source} holds values of type {array.dtype}, not numbers")
    shape = expected.shape
    # One channel may go without saying.
    allowed = {shape, (expected.columns,), shape[1:] if len(shape) == 3 and shape[0] == 1 else shape}
    if array.ndim < 2 or array.shape[1:] not in allowed:
        wanted = "×".join(map(str, shape))
        found = "×".join(map(str, array.shape)) or "a single number"
        raise UserError(f"{source} has shape {found}, but the model takes rows of {wanted} values (n×{wanted})")
    for start in range(0, len(array), _BATCH):
        yield np.asarray(array[start : start + _BATCH]).reshape(-1, expected.columns), _Names()


def _load_array(path: Path) -> np.ndarray:
    try:
        if path.suffix.lower() == ".npy":
            array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        with np.load(path, allow_pickle=False) as arrays:
            if "x" not in arrays and len(arrays.files) != 1:
                raise UserError(
                    f"{path} holds the arrays {', '.join(arrays.files) or '(none)'}; name the one to read x"
                )
            return arrays["x"] if "x" in arrays else arrays[arrays.files[0]]
    except UserError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError, AttributeError) as error:
        raise UserError(f"{path} is damaged or not a {path.suffix} file of numbers") from error


def _read_csv(path: Path, expected: RowFormat) -> Iterator[tuple[np.ndarray, _Names]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            rows = _csv_rows(path, csv.reader(file), expected.columns)
            first = next(rows, None)
            if first is None:
                return
            header = [cell.strip() for cell in first[1]]
            # A row without any number can only be the names of the columns.
            if any(map(_is_number, header)):
                header, rows = [], itertools.chain([first], rows)
            first_row = 0
            while batch := list(itertools.islice(rows, _BATCH)):
                names = _Names(header, [line for line, _ in batch])
                yield _numbers(path, [cells for _, cells in batch], names, first_row), names
                first_row += len(batch)
        except (csv.Error, UnicodeDecodeError) as error:
            raise UserError(f"{path} is no CSV file in UTF-8: {error}") from error


def _csv_rows(path: Path, reader: Iterator[list[str]], columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty with the number of their line."""
    for line, cells in enumerate(reader, 1):
        if cells and len(cells) != columns:
            raise UserError(
                f"{path}, line {line}: the number of columns is {len(cells)}, but the model takes {columns}"
            )
        if cells:
            yield line, cells


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(path: Path, cells: list[list[str]], names: _Names, first_row: int) -> np.ndarray:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                if not _is_number(cell):
                    raise UserError(
                        f"{path}, {names.place(first_row, i, j)}: {cell.strip()!r} is not a number"
                    ) from None
        raise
