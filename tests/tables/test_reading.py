import datetime
import gzip
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from scnf.errors import UserError
from scnf.tables import Table, TableEncoder, open_table, text_files

_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow", ".npy", ".npz")
_ROWS = 1000


def _data() -> dict[str, list]:
    rng = np.random.default_rng(0)
    return {
        "größe": rng.normal(size=_ROWS).tolist(),
        "count": rng.integers(0, 9, _ROWS).tolist(),
        "gaps": [None if i == 900 else i for i in range(_ROWS)],
        "town": rng.choice(["Köln", "a,b", 'say "x"', "two\nlines"], _ROWS).tolist(),
        "sold": (rng.random(_ROWS) < 0.5).tolist(),
        "maybe": [None if i == 3 else i % 2 == 0 for i in range(_ROWS)],
    }


def _write(path, data):
    table, ending = pa.table(data), "".join(path.suffixes)
    if ending == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=300)
    elif ending == ".feather":
        pa.feather.write_feather(table, path, chunksize=300)
    elif ending == ".arrow":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, 300)
    else:
        table.to_pandas().to_csv(path, sep="\t" if ".tsv" in ending else ",", index=False)


@pytest.mark.parametrize("ending", [ending for ending in _ENDINGS if not ending.startswith(".np")])
def test_round_trip_in_batches(tmp_path, ending):
    data, path = _data(), tmp_path / f"t{ending}"
    _write(path, data)
    file = open_table(path)
    assert file.rows == _ROWS
    batches = list(file.batches(128))
    assert [len(batch) for batch in batches] == [128] * 7 + [104]
    assert [batch.first_row for batch in batches] == list(range(0, _ROWS, 128))
    # One type each in all batches, also where the one missing value is in another.
    for batch in batches:
        assert [values.dtype.kind for values in batch.columns.values()] == ["f", "i", "f", "O", "b", "O"]
    whole, expected = file.read(), Table.of(data)
    assert whole.named
    assert whole.source == str(path)
    for name in data:
        parts = np.concatenate([batch.columns[name] for batch in batches])
        for found in (whole.columns[name], parts):
            assert found.dtype == expected.columns[name].dtype
            np.testing.assert_array_equal(found, expected.columns[name])


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_arrays(tmp_path, ending):
    x, path = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32), tmp_path / f"t{ending}"
    if ending == ".npy":
        np.save(path, x)
    else:
        np.savez(path, x=x, y=np.array(["a", ""] * 50))
    file = open_table(path)
    assert file.rows == 100
    batches = list(file.batches(64))
    assert [len(batch) for batch in batches] == [64, 36]
    assert not batches[0].named
    np.testing.assert_array_equal(np.concatenate([b.without(["y"]).to_array() for b in batches]), x)
    assert file.read().names == (("x0", "x1", "x2") if ending == ".npy" else ("x0", "x1", "x2", "y"))
    if ending == ".npz":
        assert file.read().columns["y"].tolist() == ["a", ""] * 50


def test_texts_in_an_array_have_one_type_in_all_batches(tmp_path):
    np.save(tmp_path / "t.npy", np.array([["1", "1"]] * 5 + [["2", "x"]]))
    batches = list(open_table(tmp_path / "t.npy").batches(2))
    assert {batch.columns["x0"].dtype.kind for batch in batches} == {"i"}
    assert {batch.columns["x1"].dtype.kind for batch in batches} == {"O"}


@pytest.fixture
def small_blocks(monkeypatch):
    """Text files in blocks of a few rows, as large files have many."""
    monkeypatch.setattr(text_files, "_BLOCK", 4096)


def _csv(tmp_path, text: str | bytes, name: str = "t.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("late", "kind"), [("7", "i"), ("1.5", "f"), ("", "f"), ("NA", "f"), ("many", "O"), ("9" * 25, "f"), ("+5", "i")]
)
@pytest.mark.usefixtures("small_blocks")
def test_a_late_value_decides_the_type_of_the_whole_column(tmp_path, late, kind):
    path = _csv(tmp_path, "a,b\n" + "1,x\n" * 4_000 + f"{late},x\n")
    batches = open_table(path).batches(512)
    assert next(batches).columns["a"].dtype.kind == kind
    *_, last = batches
    assert last.columns["a"].dtype.kind == kind
    assert open_table(path).rows == 4_001


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1, 2]),
        ([" 1", "2 "], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1e3", "-.5"], [1000.0, -0.5]),
        (["+1", "+.5"], [1.0, 0.5]),
        (["true", "false"], [True, False]),
        (["True", "FALSE"], [True, False]),
        (["0", "1"], [0, 1]),
        (["yes", "no"], ["yes", "no"]),
        (["true", "2"], ["true", "2"]),
        (["a ", " b"], ["a", "b"]),
        (['"1"', '"2"'], [1, 2]),
        (["x", "NULL"], ["x", None]),
        (["x", "  "], ["x", None]),
    ],
)
def test_types_of_csv_columns(tmp_path, cells, expected):
    table = open_table(_csv(tmp_path, "key,a\n" + "".join(f"k,{cell}\n" for cell in cells))).read()
    assert table.columns["a"].tolist() == expected
    assert [type(value) for value in table.columns["a"].tolist()] == [type(value) for value in expected]


def test_columns_to_be_read_as_text(tmp_path):
    path = _csv(tmp_path, "code,other\n007,007\n010,010\n")
    assert open_table(path, text=["code", "not there"]).read().columns["code"].tolist() == ["007", "010"]
    assert open_table(path, text=["code"]).read().columns["other"].tolist() == [7, 10]


def test_what_was_learned_from_text_is_met_in_a_file_that_looks_like_numbers(tmp_path):
    train = open_table(_csv(tmp_path, "code,x\n" + "007,1.5\n7a,2.5\n" * 20, "train.csv")).read()
    encoder = TableEncoder.fit(train)
    path = _csv(tmp_path, "code,x\n007,1.5\n", "new.csv")
    new = open_table(path, text=encoder.schema.text_columns).read()
    assert encoder.notes(new).sentences() == []
    assert encoder.notes(open_table(path).read()).unseen == {"code": ("7",)}


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b\n1,2\n", ("a", "b"), 1),
        ("\ufeffa,b\n1,2\n", ("a", "b"), 1),
        (" a , b\n1,2\n", ("a", "b"), 1),
        ("a;b\n1;2\n", ("a", "b"), 1),
        ("a\tb\n1\t2\n", ("a", "b"), 1),
        ("a\n1\n2\n", ("a",), 2),
        ('"x,y",b\r\n1,2\r\n', ("x,y", "b"), 1),
        ("label,0,1\n7,0,0\n3,0,5\n", ("label", "0", "1"), 2),
        ("1,2\n3,4\n", ("x0", "x1"), 2),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", ("x0", "x1", "x2"), 2),
        ("a,b\n1,2", ("a", "b"), 1),
        ("a,b\n\n1,2\n\n", ("a", "b"), 1),
    ],
)
def test_headers_and_separators(tmp_path, text, names, rows):
    file = open_table(_csv(tmp_path, text))
    table = file.read()
    assert table.names == names
    assert (len(table), file.rows) == (rows, rows)
    assert table.named == (names[0] != "x0")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "holds no rows"),
        ("t.csv", b"a,b\n1,\xff\xfe\n", "is damaged or no .csv file in UTF-8"),
        ("t.csv", "a,b\n".encode("utf-16"), "is damaged or no .csv file in UTF-8"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3: the number of columns is 3, but the file began with 2"),
        ("t.csv", b"a,b\n1,2\n1\n", "line 3: the number of columns is 1, but the file began with 2"),
        ("t.csv", b"a,b\n" + b"1,2\n" * 5_000 + b"1\n", "line 5002: the number of columns is 1, but"),
        ("t.csv", b"a,b, a\n1,2,3\n", "two columns are called 'a'"),
        ("t.csv", b"PAR1\xff\x00\x01PAR1", "is damaged or no .csv file in UTF-8"),
        ("t.tsv", b"", "is empty"),
        ("t.csv.gz", b"a,b\n1,2\n", "is damaged or no .csv.gz file"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 10_000, mtime=0)[:-20], "is damaged or no .csv.gz file"),
        ("t.csv.gz", b"", "is empty"),
        ("t.parquet", b"", "is empty"),
        ("t.parquet", b"a,b\n1,2\n", "is damaged or not a .parquet file"),
        ("t.feather", b"", "is empty"),
        ("t.feather", b"a,b\n1,2\n", "is damaged or not a .feather file"),
        ("t.arrow", b"a,b\n1,2\n", "is damaged or not a .arrow file"),
        ("t.npy", b"", "is empty"),
        ("t.npy", b"a,b\n1,2\n", "is damaged or not a .npy file"),
        ("t.npz", b"", "is empty"),
        ("t.npz", b"PK\x03\x04 and more", "is damaged or not a .npz file"),
        ("t.xlsx", b"PK", "cannot read .*t.xlsx: its name must end in .csv, .tsv"),
        ("t", b"a", "its name must end in .csv"),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_damaged_and_empty_files(tmp_path, name, content, why):
    path = _csv(tmp_path, content, name)
    with pytest.raises(UserError, match=why) as error:
        open_table(path).read()
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_files_damaged_in_the_middle(tmp_path, ending, damage):
    path = tmp_path / f"t{ending}"
    _write(path, _data())
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    else:
        content[:2000] = bytes(2000)
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"{path} is damaged or not a {ending} file"):
        open_table(path).read()


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(UserError, match=r"none\.csv does not exist"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(UserError, match="is not a file"):
        open_table(tmp_path)
    for path in (_csv(tmp_path, "a\n1\n"),):
        with pytest.raises(UserError, match="at least 1 row, got 0"):
            next(open_table(path).batches(0))


@pytest.mark.parametrize(
    ("save", "why"),
    [
        (lambda p: np.save(p, np.zeros(3)), "has the shape 3, but a table has rows and columns"),
        (lambda p: np.save(p, np.zeros((3, 2, 2))), "has the shape 3×2×2"),
        (lambda p: np.save(p, np.array([[None]]), allow_pickle=True), "is damaged or not a .npy file"),
        (lambda p: np.savez(p.with_suffix(".npz"), a=np.eye(2), b=np.eye(2)), "holds the arrays a, b; name the rows x"),
        (lambda p: np.savez(p.with_suffix(".npz"), x=np.eye(2), y=np.eye(3)), "has 2 rows in x, but y has the shape"),
    ],
)
def test_arrays_that_are_no_table(tmp_path, save, why):
    save(tmp_path / "t.npy")
    (path,) = tmp_path.iterdir()
    with pytest.raises(UserError, match=why):
        open_table(path).read()


def test_an_array_file_with_the_wrong_ending(tmp_path):
    with (tmp_path / "t.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(UserError, match=r"is a \.npy file; give it that ending"):
        open_table(tmp_path / "t.npz")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_no_rows(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    _write(path, {"a": pa.array([], pa.float64()), "b": pa.array([], pa.float64())})
    file = open_table(path)
    assert file.rows == 0
    assert list(file.batches(10)) == []
    assert file.read().names == ("a", "b")
    with pytest.raises(UserError, match=f"{path} holds no rows"):
        TableEncoder.fit(file.read())


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ([[1, 2], [3]], "holds several values in each row"),
        ([{"a": 1}, None], "holds several values in each row"),
        ([datetime.date(2020, 1, 1), None], "holds dates or times"),
    ],
)
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_columns_of_other_types_are_told_when_asked_for(tmp_path, column, why, ending):
    path = tmp_path / f"t{ending}"
    _write(path, {"good": [1, 2], "bad": column})
    table = open_table(path).read()
    assert table.names == ("good",)
    with pytest.raises(UserError, match=f"{path}, column 'bad' {why}"):
        TableEncoder.fit(table)
    assert TableEncoder.fit(table.without(["bad"])).features == 1


def test_dates_in_a_text_file(tmp_path):
    table = open_table(_csv(tmp_path, "when,x\n2020-01-01,1\n2020-02-01 10:30,2\n")).read()
    with pytest.raises(UserError, match="column 'when' holds dates or times"):
        TableEncoder.fit(table)


def test_two_columns_of_one_name_in_a_parquet_file(tmp_path):
    pa.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(UserError, match="two columns are called 'a'"):
        open_table(tmp_path / "t.parquet").read()


def test_files_of_other_libraries(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", "y"])}, index=[5, 9])
    frame.to_parquet(tmp_path / "pandas.parquet")
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet(tmp_path / "polars.parquet")
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_ipc(tmp_path / "polars.feather", compression="zstd")
    for path in tmp_path.iterdir():
        table = open_table(path).read()
        assert table.names == ("a", "b")
        assert table.columns["b"].tolist() == ["x", "y"]
        assert table.columns["a"].tolist() == [1, 2]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".npy"])
def test_memory_stays_flat(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(text_files, "_BLOCK", 1 << 16)
    rows, path = 150_000, tmp_path / f"t{ending}"
    x = np.random.default_rng(0).integers(0, 1000, (rows, 8)).astype(np.float64) + 0.5
    if ending == ".npy":
        np.save(path, x)
    elif ending == ".csv":
        path.write_text("a,b,c,d,e,f,g,h\n" + "100.5,200.5,300.5,400.5,x,600.5,700.5,800.5\n" * rows)
    else:
        _write(path, {f"c{i}": x[:, i] for i in range(8)})
    del x
    before = pa.total_allocated_bytes()
    arrow, seen = 0, 0
    tracemalloc.start()
    for batch in open_table(path).batches(4096):
        seen += len(batch)
        arrow = max(arrow, pa.total_allocated_bytes() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == rows
    # The whole table would be 10 MB in memory.
    assert peak < 3e6
    assert arrow < 6e6
