"""Census income (UCI Adult): rows of people with names and numbers, in the two files of its publication."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from scnf.data.obtain import find_or_download
from scnf.data.places import Files
from scnf.data.published import CENSUS, TEST_TABLE, TRAIN_TABLE, Report, tell_nobody
from scnf.errors import UserError
from scnf.tables.table import Table

TASK, PROTECTED = "income", "sex"
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    PROTECTED, "capital-gain", "capital-loss", "hours-per-week", "native-country", TASK,
)  # fmt: skip
_MISSING = "?"


def load_census(data_dir: Path | None = None, on_download: Report = tell_nobody) -> tuple[Table, Table]:
    """Return the rows of the training and of the test file, which are found, or else downloaded."""
    return read_census(find_or_download(CENSUS, data_dir, on_download))


def read_census(files: Files) -> tuple[Table, Table]:
    """Return the rows of the training and of the test file: whole numbers, and names that are None where missing."""
    try:
        return read_rows(files[TRAIN_TABLE]), read_rows(files[TEST_TABLE])
    except UserError as error:
        raise UserError(f"{error}; {files.remedy}") from error


def read_rows(path: Path) -> Table:
    """Return the rows of one file, gzipped or not."""
    rows = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        # The test file begins with a remark, and writes a full stop after each income.
        if not line.strip() or line.startswith("|"):
            continue
        values = [value.strip() for value in line.strip().rstrip(".").split(",")]
        if len(values) != len(COLUMNS):
            raise UserError(f"{path}, line {number}: there are {len(values)} values, not {len(COLUMNS)}")
        if values[-1] not in CENSUS.classes:
            raise UserError(f"{path}, line {number}: {TASK} is {values[-1]!r}, not {' or '.join(CENSUS.classes)}")
        rows.append(values)
    if not rows:
        raise UserError(f"{path} holds no rows")
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return Table({name: _column(path, name, values) for name, values in columns.items()}, source=str(path))


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        return content.decode("ascii")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: it cannot be read as text") from error


def _column(path: Path, name: str, values: tuple[str, ...]) -> np.ndarray:
    if name not in NUMBERS:
        return np.array([None if value == _MISSING else value for value in values], dtype=object)
    for value in values:
        if not value.isdecimal():
            raise UserError(f"{path}: {name} holds {value!r}, but it is a whole number")
    return np.array(values, dtype=np.int64)
