import datetime
import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scnf.errors import UserError
from scnf.tables import Table, TableEncoder

_MIXED = {
    "size": [1.5, None, 3.0],
    "count": [1, 2, 3],
    "gaps": [1, None, 3],
    "town": ["Köln", None, "Łódź"],
    "sold": [True, False, True],
    "maybe": [True, None, False],
}


def _pandas() -> pd.DataFrame:
    return pd.DataFrame(_MIXED, index=[7, 7, 9])


def _nullable() -> pd.DataFrame:
    return pd.DataFrame(_MIXED).convert_dtypes()


def _arrow_backed() -> pd.DataFrame:
    return pd.DataFrame(_MIXED).convert_dtypes(dtype_backend="pyarrow")


def _objects() -> pd.DataFrame:
    return pd.DataFrame(_MIXED, dtype=object)


@pytest.mark.parametrize(
    "frame",
    [
        _pandas,
        _nullable,
        _arrow_backed,
        _objects,
        lambda: pl.DataFrame(_MIXED),
        lambda: pa.table(_MIXED),
        lambda: _MIXED,
    ],
)
def test_frames_of_all_libraries_become_the_same_table(frame):
    table = Table.of(frame())
    assert table.names == tuple(_MIXED)
    assert table.named
    assert [values.dtype.kind for values in table.columns.values()] == ["f", "i", "f", "O", "b", "O"]
    assert table.columns["count"].dtype == np.int64
    np.testing.assert_array_equal(table.columns["size"], [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(table.columns["gaps"], [1, np.nan, 3])
    assert table.columns["town"].tolist() == _MIXED["town"]
    assert table.columns["maybe"].tolist() == _MIXED["maybe"]
    assert len(table) == 3


def test_pandas_and_polars_are_not_imported_unasked():
    code = "import sys, numpy, scnf.tables as t; t.TableEncoder.fit(t.Table.of(numpy.eye(9)))" + (
        "; sys.exit(bool({'pandas', 'polars', 'torch', 'pyarrow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.uint64, bool, np.dtype(">f8")])
def test_arrays_have_columns_by_position(dtype):
    array = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    table = Table.of(array)
    assert table.names == ("x0", "x1")
    assert not table.named
    assert table.columns["x0"].dtype in (np.float64, np.int64, bool)
    np.testing.assert_array_equal(table.to_array(), array)


def test_a_list_keeps_numbers_and_names_apart():
    table = Table.of([["a", 1, 0.5], ["b", 2, None]])
    assert [values.dtype.kind for values in table.columns.values()] == ["O", "i", "f"]


def test_numbers_that_numpy_made_texts_are_numbers():
    table = Table.of(np.array([["a", 1, 0.5], ["b", 2, np.nan]]))
    assert table.columns["x1"].tolist() == [1, 2]
    np.testing.assert_array_equal(table.columns["x2"], [0.5, np.nan])


def test_categoricals_are_names_whatever_they_hold():
    pandas = pd.DataFrame({"a": pd.Categorical([3, 1, None]), "b": pd.Categorical(["x", None, "y"])})
    polars = pl.DataFrame({"b": pl.Series(["x", None, "y"], dtype=pl.Categorical)})
    ordered = pl.DataFrame({"b": pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x"]))})
    assert Table.of(pandas).columns["a"].tolist() == ["3", "1", None]
    for frame in (pandas, polars, ordered):
        assert Table.of(frame).columns["b"].tolist() == ["x", None, "y"]


def test_huge_whole_numbers():
    table = Table.of({"a": [2**62, 2**62 + 1], "b": np.array([2**64 - 1, 0], dtype=np.uint64), "c": [2**70, 1]})
    assert table.columns["a"].tolist() == [2**62, 2**62 + 1]
    assert table.columns["b"].tolist() == [2.0**64, 0]
    assert table.columns["c"].tolist() == [2.0**70, 1]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.array(["2020-01-01"], dtype="datetime64[D]"), r"dates or times \(datetime64\[D\]\); turn it into numbers"),
        ([datetime.date(2020, 1, 1)], r"dates or times \(row 1: 2020-01-01\)"),
        ([datetime.timedelta(1)], "dates or times"),
        (np.array([1j]), "type complex128"),
        ([{"a": 1}], "type dict in row 1"),
        ([b"abc"], "type bytes"),
        ([10**400], "more than 308 digits"),
    ],
)
def test_other_types_are_refused_by_column_when_asked_for(values, why):
    table = Table.of({"good": [0.5], "bad": values})
    assert table.names == ("good",)
    assert len(table.select(["good"])) == 1
    for ask in (lambda: table.select(["bad"]), lambda: TableEncoder.fit(table)):
        with pytest.raises(UserError, match=f"column 'bad' holds .*{why}"):
            ask()
    assert not table.without(["bad"]).unusable


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([[1, 2]]), r"several values in each row \(list<"),
        (pa.array([{"a": 1}]), "several values in each row"),
        (pa.array([datetime.datetime(2020, 1, 1)]), "dates or times .timestamp"),
        (pa.array([datetime.time(1)]), "dates or times"),
        (pa.array([b"abc"]), "type binary"),
    ],
)
def test_arrow_types_are_refused_too(column, why):
    with pytest.raises(UserError, match=f"column 'bad' holds .*{why}"):
        Table.of(pa.table({"bad": column})).select(["bad"])


def test_dates_in_frames_are_refused():
    moments = [datetime.datetime(2020, 1, 1), None]
    for frame in (pd.DataFrame({"when": moments}), pl.DataFrame({"when": moments})):
        with pytest.raises(UserError, match="column 'when' holds dates or times"):
            Table.of(frame).select(["when"])


def test_decimals_are_numbers():
    table = Table.of({"a": [decimal.Decimal("1.5")]})
    assert table.columns["a"].tolist() == [1.5]
    assert Table.of(pa.table({"a": pa.array([decimal.Decimal("1.5"), None])})).columns["a"][0] == 1.5


@pytest.mark.parametrize("data", [np.zeros(3), np.zeros((2, 2, 2)), 5, "abc", [1, 2], pl.LazyFrame({"a": [1]})])
def test_what_is_no_table(data):
    with pytest.raises(UserError, match=r"a table is a 2-D array, .* or a pyarrow Table, not"):
        Table.of(data)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_two_columns_of_one_name(data):
    with pytest.raises(UserError, match="two columns are called 'a'"):
        Table.of(data)


def test_columns_of_different_lengths():
    with pytest.raises(UserError, match="'a' has 2 values and 'b' 1"):
        Table.of({"a": [1, 2], "b": [1]})


def test_rows_and_columns():
    table = Table({"a": np.arange(5), "b": np.arange(5.0)}, source="t.csv", first_row=100)
    assert table.place("a", 0) == "t.csv, column 'a', row 101"
    assert table[2:4].columns["a"].tolist() == [2, 3]
    assert table[2:4].place("a", 0) == "t.csv, column 'a', row 103"
    assert table[table.columns["a"] > 2].columns["b"].tolist() == [3, 4]
    assert table[np.array([4, 0])].columns["a"].tolist() == [4, 0]
    assert table.select(["b", "a"]).names == ("b", "a")
    assert table.without(["a", "none"]).names == ("b",)
    assert len(table[:0]) == 0
    with pytest.raises(UserError, match=r"t.csv: there is no column 'c'; the columns are a, b"):
        table.select(["c"])


def test_to_array_and_arrow():
    table = Table.of(_MIXED)
    assert table.to_array().dtype == object
    assert table.select(["size", "count"]).to_array().dtype == np.float64
    assert table.select(["count"]).to_array().dtype == np.int64
    assert table.to_arrow().to_pylist() == pa.table(_MIXED).to_pylist()


class Unseen(np.ndarray):
    """Numbers that nobody may look at one by one."""

    def __iter__(self):
        pytest.fail("each number was looked at")


def test_numbers_become_arrows_as_a_whole():
    assert Table({"x": np.arange(3.0).view(Unseen)}).to_arrow().to_pydict() == {"x": [0, 1, 2]}
