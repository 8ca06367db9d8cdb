""".csv and .tsv files: read as text twice, once to find out what the columns hold and once for their values.

The type of a column is the one that fits all its values, wherever in the file they stand, so that 1.5 in the
100,000th row makes a column of numbers and not an error.
"""

import csv
import gzip
import itertools
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from scnf.errors import UserError
from scnf.tables.incoming import refuse_same_names
from scnf.tables.objects import parse_number
from scnf.tables.reading import ArrowTableFile, ending_of

_BLOCK = 1 << 20
_PEEK_ROWS = 100
# How a missing value is written, as in pandas.
_NULLS = pa.array(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
# What Arrow says of a row that is too long or too short.
_WRONG_ROW = re.compile(r"(?:Row #(?P<line>\d+): )?Expected (?P<expected>\d+) columns, got (?P<found>\d+)")
# Tried in this order; what fits none of them is text.
_TYPES = (pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us"))


class _Start(NamedTuple):
    delimiter: str
    has_header: bool


class _Scan(NamedTuple):
    rows: int
    types: dict[str, pa.DataType]
    gaps: frozenset[str]


class TextFile(ArrowTableFile):
    """A .csv file (with commas, semicolons or tabs) or a .tsv file (with tabs) in UTF-8, perhaps compressed (.gz).

    A first row that looks like the rows below it is no header: then the columns are called x0, x1, … as in an array.
    """

    def __init__(self, path: Path, text: Collection[str] = ()):
        super().__init__(path)
        if not path.stat().st_size:
            raise UserError(f"{path} is empty")
        self._text = frozenset(text)
        self._start = _look_at_start(path)
        self.named = self._start.has_header

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._scan.rows

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pa.schema(list(self._scan.types.items()))

    def gaps(self) -> frozenset[str]:
        """Return the names of columns with missing values."""
        return self._scan.gaps

    def record_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the blocks of the file, which have their size in bytes, in the types that all of them have."""
        types = list(self._scan.types.values())
        for texts in self._text_batches():
            columns = [_cast(column, kind) for column, kind in zip(texts.columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.arrow_schema)

    @cached_property
    def _raw_names(self) -> list[str]:
        with self._told(), self._reader({}) as reader:
            names: list[str] = reader.schema.names
            return names

    @cached_property
    def _names(self) -> list[str]:
        raw = self._raw_names
        names = [name.strip() for name in raw] if self.named else [f"x{i}" for i in range(len(raw))]
        refuse_same_names(names, str(self.path))
        return names

    @cached_property
    def _scan(self) -> _Scan:
        possible = {name: ([] if name in self._text else list(_TYPES)) for name in self._names}
        gaps, filled, rows = set(), set(), 0
        for batch in self._text_batches():
            rows += len(batch)
            for name, column in zip(self._names, batch.columns, strict=True):
                if column.null_count:
                    gaps.add(name)
                if column.null_count < len(column):
                    filled.add(name)
                    possible[name] = _still_possible(column, possible[name])
        types = {name: (kinds[0] if kinds else pa.string()) for name, kinds in possible.items()}
        # A column without any value could be all of them: numbers, of which none is known.
        types |= {name: pa.float64() for name in types if name not in filled and name not in self._text}
        return _Scan(rows, types, frozenset(gaps))

    def _text_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield blocks of text, trimmed, with nulls for what is missing."""
        names = self._names
        types = dict.fromkeys(self._raw_names, pa.string())
        with self._told(), self._reader(types) as reader:
            for batch in reader:
                yield pa.RecordBatch.from_arrays([_without_nulls(column) for column in batch.columns], names=names)

    def _reader(self, types: dict[str, pa.DataType]) -> pacsv.CSVStreamingReader:
        # One thread, so that a row which is too long or too short is known by its number.
        read = pacsv.ReadOptions(
            use_threads=False, block_size=_BLOCK, autogenerate_column_names=not self._start.has_header
        )
        # No handler of wrong rows: Arrow's threads would let go of it, and abort the process, while Python shuts down.
        parse = pacsv.ParseOptions(delimiter=self._start.delimiter, newlines_in_values=True)
        convert = pacsv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return pacsv.open_csv(pa.input_stream(str(self.path), compression="detect"), read, parse, convert)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what is wrong with the file in one sentence."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if wrong := _WRONG_ROW.search(str(error)):
                line = "" if wrong["line"] is None else f", line {wrong['line']}"
                raise UserError(
                    f"{self.path}{line}: the number of columns is {wrong['found']}, but the file began with "
                    f"{wrong['expected']}"
                ) from error
            raise UserError(f"{self.path} is damaged or no {ending_of(self.path)} file in UTF-8: {error}") from error


def _look_at_start(path: Path) -> _Start:
    """Find out what separates the columns and whether the first row has their names."""
    try:
        opener = gzip.open if path.suffix.lower() == ".gz" else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            delimiter = "\t" if ending_of(path).startswith(".tsv") else max(",;\t", key=first.count)
            rows = csv.reader(itertools.chain([first], file), delimiter=delimiter)
            peek = [row for row in itertools.islice(rows, _PEEK_ROWS) if row]
    except (UnicodeDecodeError, csv.Error, OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} is damaged or no {ending_of(path)} file in UTF-8: {error}") from error
    if not peek:
        raise UserError(f"{path} holds no rows")
    return _Start(delimiter, _is_header(peek[0], peek[1:]))


def _is_header(first: list[str], below: list[list[str]]) -> bool:
    """Tell names of columns: no number among them, or a name above a column of numbers."""
    numbers = [parse_number(cell.strip()) is not None for cell in first]
    if not any(numbers):
        return True
    for index, is_number in enumerate(numbers):
        cells = [row[index].strip() for row in below if index < len(row) and row[index].strip()]
        if not is_number and first[index].strip() and cells and all(parse_number(cell) is not None for cell in cells):
            return True
    return False


def _without_nulls(column: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(trimmed, value_set=_NULLS), pa.scalar(None, pa.string()), trimmed)


def _still_possible(column: pa.Array, kinds: list[pa.DataType]) -> list[pa.DataType]:
    kept: list[pa.DataType] = []
    for kind in kinds:
        # Whole numbers are numbers.
        if (kind == pa.float64() and pa.int64() in kept) or _fits(column, kind):
            kept.append(kind)
    return kept


def _fits(column: pa.Array, kind: pa.DataType) -> bool:
    try:
        _cast(column, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Arrow knows no plus sign.
    if kind in (pa.int64(), pa.float64()) and pc.any(pc.starts_with(column, "+")).as_py():
        column = pc.replace_substring_regex(column, r"^\+(\d|\.)", r"\1")
    return column.cast(kind)
