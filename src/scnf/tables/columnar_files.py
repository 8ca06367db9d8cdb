"""Parquet, Feather and Arrow files: the file itself tells types and numbers of rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scnf.errors import UserError
from scnf.tables.reading import ArrowTableFile

_BUFFER = 1 << 20


class ParquetFile(ArrowTableFile):
    """A .parquet file, read row group by row group."""

    def __init__(self, path: Path):
        super().__init__(path)
        with _damage_told(path):
            self._metadata = pq.read_metadata(path)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._metadata.num_rows

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Names and types of the columns."""
        with _damage_told(self.path), self._open() as file:
            schema = file.schema_arrow
        kept = [field for field in schema if not _is_index(field.name)]
        return pa.schema(kept)

    def gaps(self) -> frozenset[str]:
        """Return the names of columns whose statistics do not rule nulls out."""
        names = set()
        for group in range(self._metadata.num_row_groups):
            for index in range(self._metadata.num_columns):
                chunk = self._metadata.row_group(group).column(index)
                known = chunk.is_stats_set and chunk.statistics.has_null_count
                if not known or chunk.statistics.null_count:
                    names.add(chunk.path_in_schema)
        return frozenset(names)

    def record_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield Arrow batches of ``size`` rows."""
        names = [field.name for field in self.arrow_schema]
        with _damage_told(self.path), self._open() as file:
            yield from file.iter_batches(size, columns=names, use_threads=False)

    def _open(self) -> pq.ParquetFile:
        # Neither whole row groups nor whole columns of them in memory.
        return pq.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)


class IpcFile(ArrowTableFile):
    """A .feather or .arrow file, mapped into memory; in the file format or in that of streams."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._scanned[0]

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Names and types of the columns."""
        with _damage_told(self.path), pa.memory_map(str(self.path)) as source:
            return _open_ipc(source).schema

    def gaps(self) -> frozenset[str]:
        """Return the names of columns with nulls."""
        return self._scanned[1]

    def record_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the file in parts of ``size`` rows."""
        with _damage_told(self.path), pa.memory_map(str(self.path)) as source:
            reader = _open_ipc(source)
            if isinstance(reader, pa.RecordBatchFileReader):
                whole = (reader.get_batch(index) for index in range(reader.num_record_batches))
            else:
                whole = iter(reader)
            for batch in whole:
                yield from (batch[start : start + size] for start in range(0, len(batch), size))

    @cached_property
    def _scanned(self) -> tuple[int, frozenset[str]]:
        rows, gaps = 0, set()
        for batch in self.record_batches(_BUFFER):
            rows += len(batch)
            gaps |= {name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column.null_count}
        return rows, frozenset(gaps)


def _open_ipc(source: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _is_index(name: str) -> bool:
    """Tell the row numbers that pandas writes along."""
    return name.startswith("__index_level_")


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    if not path.stat().st_size:
        raise UserError(f"{path} is empty")
    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        raise UserError(f"{path} is damaged or not a {path.suffix} file") from error
