"""Tables to files, batch by batch: the file appears when it is complete, and none is overwritten."""

import csv
import io
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from scnf.errors import UserError
from scnf.tables.table import Table

_ROWS_IN_A_GROUP = 65536  # smaller groups make a larger .parquet file, and a list of them that takes memory
_ENDINGS = (".csv", ".tsv", ".parquet", ".feather")


class TableWriter:
    """Writes tables with the same columns below one another; the first one decides the types.

    Leaving the ``with`` block by an error leaves no file, and so does writing nothing; a table without rows is enough
    to write a file with names only.

    Example:
        >>> import tempfile, numpy as np
        >>> from scnf.tables import Table, open_table
        >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
        >>> with TableWriter(path) as writer:
        ...     writer.write(Table({"a": np.array([1, 2])}))
        ...     writer.write(Table({"a": np.array([3])}))
        >>> open_table(path).read().columns["a"].tolist()
        [1, 2, 3]
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if self.path.suffix.lower() not in _ENDINGS:
            raise UserError(f"cannot write {self.path}: its name must end in {', '.join(_ENDINGS[:-1])} or .feather")
        if self.path.is_dir():
            raise UserError(f"{self.path} is a folder")
        if self.path.exists():
            raise UserError(f"{self.path} exists already; choose another name")
        if not self.path.parent.is_dir():
            raise UserError(f"the folder {self.path.parent} does not exist")
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._schema: pa.Schema | None = None
        self._sink: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, table: Table) -> None:
        """Write the rows of a table."""
        arrow = table.to_arrow()
        if self._schema is None:
            self._schema = arrow.schema
            self._sink = self._open(arrow.schema)
        self._sink.write_table(self._fitting(arrow))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._sink is not None:
                self._sink.close()
                if kind is None:
                    # What came there in the meantime is not ours to replace.
                    if self.path.exists():
                        raise UserError(f"{self.path} exists already; choose another name")
                    os.replace(self._temporary, self.path)
        finally:
            self._temporary.unlink(missing_ok=True)

    def _open(self, schema: pa.Schema) -> Any:
        ending = self.path.suffix.lower()
        if ending == ".parquet":
            return _ParquetSink(self._temporary, schema)
        if ending == ".feather":
            return pa.ipc.new_file(str(self._temporary), schema)
        return _TextSink(self._temporary, schema.names, "\t" if ending == ".tsv" else ",")

    def _fitting(self, arrow: pa.Table) -> pa.Table:
        assert self._schema is not None
        if arrow.column_names != self._schema.names:
            raise UserError(f"{self.path} was begun with other columns: {', '.join(self._schema.names)}")
        for index, field in enumerate(self._schema):
            try:
                arrow = arrow.set_column(index, field, arrow.column(index).cast(field.type))
            except pa.ArrowException as error:
                raise UserError(
                    f"{self.path}, column {field.name!r} was begun with values of type {field.type}: {error}"
                ) from error
        return arrow


class _ParquetSink:
    """A .parquet file in groups of many rows, however few come at a time."""

    def __init__(self, path: Path, schema: pa.Schema):
        self._writer = pq.ParquetWriter(path, schema)
        self._waiting: list[pa.Table] = []

    def write_table(self, table: pa.Table) -> None:
        self._waiting.append(table)
        if sum(map(len, self._waiting)) >= _ROWS_IN_A_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting = []

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()


class _TextSink:
    """A .csv or .tsv file with quotes only where a value needs them."""

    def __init__(self, path: Path, names: list[str], delimiter: str):
        self._file = path.open("wb")
        self._delimiter = delimiter
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        self._file.write(header.getvalue().encode())

    def write_table(self, table: pa.Table) -> None:
        try:
            text = self._text(table, "none")
        except pa.ArrowInvalid:  # a value has quotes, line ends or separators in it
            text = self._text(table, "needed")
        self._file.write(text)

    def _text(self, table: pa.Table, quoting: str) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        options = pacsv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting)
        pacsv.write_csv(table, sink, options)
        return sink.getvalue()

    def close(self) -> None:
        self._file.close()
