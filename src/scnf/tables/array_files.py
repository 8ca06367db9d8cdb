""".npy and .npz files: rows in an array of two dimensions, labels beside them."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scnf.errors import UserError
from scnf.tables.reading import TableFile
from scnf.tables.table import Table


class ArrayFile(TableFile):
    """Columns x0, x1, … without names of their own, and ``y`` if an .npz file has labels."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._x, self._y = load_arrays(path)
        if self._x.ndim != 2:
            found = "×".join(map(str, self._x.shape)) or "a single number"
            raise UserError(f"{path} has the shape {found}, but a table has rows and columns (n×columns)")
        if self._y is not None and self._y.shape != self._x.shape[:1]:
            raise UserError(f"{path} has {len(self._x)} rows in x, but y has the shape {self._y.shape}")
        # Types that depend on the values are found out from all of them.
        self._converted = None if self._x.dtype.kind in "bif" else Table.of(self._x)
        self._labels = None if self._y is None else Table.of({"y": self._y})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._x)

    def batches(self, size: int = 2048) -> Iterator[Table]:
        """Yield tables of ``size`` rows, the last one shorter; an .npy file is read as they are needed."""
        if size < 1:
            raise UserError(f"a batch must have at least 1 row, got {size}")
        for start in range(0, len(self._x), size):
            yield self._part(start, start + size)

    def _empty(self) -> Table:
        return self._part(0, 0)

    def _part(self, start: int, end: int) -> Table:
        part = self._converted[start:end] if self._converted is not None else Table.of(np.array(self._x[start:end]))
        columns, unusable = dict(part.columns), dict(part.unusable)
        if self._labels is not None:
            columns |= self._labels[start:end].columns
            unusable |= self._labels.unusable
        return Table(columns, False, unusable, str(self.path), start)


def load_arrays(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows in a file and, if an .npz file has them, their labels; an .npy file is read as it is needed."""
    if not path.is_file():
        raise UserError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    if not path.stat().st_size:
        raise UserError(f"{path} is empty")
    with path.open("rb") as file:
        # The ending says what to expect, the first bytes what is there.
        right = {b"\x93N": ".npy", b"PK": ".npz"}.get(file.read(2), path.suffix.lower())
        if right != path.suffix.lower():
            raise UserError(f"{path} is a {right} file; give it that ending")
        file.seek(0)
        try:
            if right == ".npy":
                return np.load(path, mmap_mode="r", allow_pickle=False), None
            with np.load(file, allow_pickle=False) as arrays:
                return _rows_and_labels(path, arrays)
        except UserError:
            raise
        except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError) as error:
            raise UserError(f"{path} is damaged or not a {path.suffix} file of numbers and names") from error


def _rows_and_labels(path: Path, arrays: np.lib.npyio.NpzFile) -> tuple[np.ndarray, np.ndarray | None]:
    others = [name for name in arrays.files if name != "y"]
    if "x" not in others and len(others) != 1:
        held = ", ".join(arrays.files) or "(none)"
        raise UserError(f"{path} holds the arrays {held}; name the rows x and the labels y")
    return arrays["x" if "x" in others else others[0]], arrays["y"] if "y" in arrays.files else None
