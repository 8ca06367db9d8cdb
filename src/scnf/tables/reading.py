"""Tables in files, whole or batch by batch; what a file is follows from its ending."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scnf.errors import UserError
from scnf.tables.incoming import column_of_arrow, refuse_same_names
from scnf.tables.objects import UnusableError
from scnf.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

_READ_ROWS = 65536


class TableFile(ABC):
    """A file of rows. The types of its columns are those of the whole file, the same in every batch."""

    def __init__(self, path: Path):
        self.path = path

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """Number of rows, None if only reading all of them would tell."""

    @abstractmethod
    def batches(self, size: int = 2048) -> Iterator[Table]:
        """Yield tables of ``size`` rows, the last one shorter; memory does not grow with the file."""

    def read(self) -> Table:
        """Return all rows in one table."""
        parts = list(self.batches(_READ_ROWS))
        if not parts:
            return self._empty()
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].names}
        return Table(columns, parts[0].named, parts[0].unusable, str(self.path))

    @abstractmethod
    def _empty(self) -> Table:
        """Return the table without rows."""


class ArrowTableFile(TableFile):
    """A file that is read as Arrow batches."""

    named = True

    @abstractmethod
    def record_batches(self, size: int) -> Iterator["pa.RecordBatch"]:
        """Yield Arrow batches of about ``size`` rows, all with the types of ``arrow_schema``."""

    @property
    @abstractmethod
    def arrow_schema(self) -> "pa.Schema":
        """Names and types of the columns."""

    @abstractmethod
    def gaps(self) -> frozenset[str]:
        """Return the names of columns with nulls anywhere in the file, or with none that could be ruled out."""

    def batches(self, size: int = 2048) -> Iterator[Table]:
        """Yield tables of ``size`` rows, the last one shorter; memory does not grow with the file."""
        if size < 1:
            raise UserError(f"a batch must have at least 1 row, got {size}")
        import pyarrow as pa  # noqa: PLC0415 (slow to import, and help needs no files)

        refuse_same_names(self.arrow_schema.names, str(self.path))
        gaps, first_row = self.gaps(), 0
        waiting = pa.Table.from_batches([], self.arrow_schema)
        for batch in self.record_batches(size):
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
            while len(waiting) >= size:
                yield self._table(waiting[:size], gaps, first_row)
                waiting, first_row = waiting[size:], first_row + size
        if len(waiting):
            yield self._table(waiting, gaps, first_row)

    def _empty(self) -> Table:
        import pyarrow as pa  # noqa: PLC0415

        refuse_same_names(self.arrow_schema.names, str(self.path))
        return self._table(pa.Table.from_batches([], self.arrow_schema), frozenset(), 0)

    def _table(self, arrow: "pa.Table", gaps: frozenset[str], first_row: int) -> Table:
        columns, unusable = {}, {}
        for name, values in zip(arrow.column_names, arrow.columns, strict=True):
            try:
                columns[name] = column_of_arrow(values, name in gaps)
            except UnusableError as error:
                unusable[name] = str(error)
        return Table(columns, self.named, unusable, str(self.path), first_row)


def open_table(path: str | Path, text: Collection[str] = ()) -> TableFile:
    """Return the table in a file: .csv, .tsv (each also .gz), .parquet, .feather, .arrow, .npz or .npy.

    ``text`` names columns of a .csv or .tsv file that hold names even if they look like numbers. An .npz file holds
    rows as ``x`` and, if it likes, labels as ``y``.
    """
    from scnf.tables.array_files import ArrayFile  # noqa: PLC0415 (they need this module)
    from scnf.tables.columnar_files import IpcFile, ParquetFile  # noqa: PLC0415
    from scnf.tables.text_files import TextFile  # noqa: PLC0415

    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    ending = ending_of(path)
    if ending in (".csv", ".tsv", ".csv.gz", ".tsv.gz"):
        return TextFile(path, text)
    if ending == ".parquet":
        return ParquetFile(path)
    if ending in (".feather", ".arrow"):
        return IpcFile(path)
    if ending in (".npz", ".npy"):
        return ArrayFile(path)
    raise UserError(
        f"cannot read {path}: its name must end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .feather, .arrow, "
        ".npz or .npy"
    )


def ending_of(path: Path) -> str:
    """Return a file's ending in small letters, two of them for compressed ones."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
