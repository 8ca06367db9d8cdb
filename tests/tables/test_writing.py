import numpy as np
import pytest

from scnf.errors import UserError
from scnf.tables import Table, open_table
from scnf.tables.writing import TableWriter

_ENDINGS = (".csv", ".tsv", ".parquet", ".feather")


def _batch(start: int, rows: int = 50) -> Table:
    i = np.arange(start, start + rows)
    return Table(
        {
            "größe": np.where(i % 7 == 3, np.nan, i / 3),
            "n": i,
            "label": np.array([["a", "b,c", 'say "x"', "tab\there", "two\nlines"][k % 5] for k in i], dtype=object),
            "sold": i % 2 == 0,
            "maybe": np.array([[True, False, None][k % 3] for k in i], dtype=object),
        }
    )


@pytest.mark.parametrize("ending", _ENDINGS)
def test_batches_are_read_back(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    with TableWriter(path) as writer:
        for start in (0, 50, 100):
            writer.write(_batch(start))
            assert not path.exists()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    found, expected = open_table(path).read(), _batch(0, 150)
    assert found.names == expected.names
    for name in expected.names:
        np.testing.assert_array_equal(found.columns[name], expected.columns[name])
        assert found.columns[name].dtype == expected.columns[name].dtype


def test_quotes_only_where_needed(tmp_path):
    with TableWriter(tmp_path / "t.csv") as writer:
        writer.write(Table({"a": np.array([0.1, np.nan]), "b c": np.array(["x", None], dtype=object)}))
    assert (tmp_path / "t.csv").read_text() == "a,b c\n0.1,x\n,\n"


@pytest.mark.parametrize("ending", _ENDINGS)
def test_the_first_batch_may_have_gaps_only(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    with TableWriter(path) as writer:
        writer.write(Table({"label": np.array([None], dtype=object), "p": np.array([np.nan])}))
        writer.write(Table({"label": np.array(["x"], dtype=object), "p": np.array([0.5])}))
    table = open_table(path).read()
    assert table.columns["label"].tolist() == [None, "x"]
    assert table.columns["p"][1] == 0.5


@pytest.mark.parametrize("ending", _ENDINGS)
def test_no_rows(tmp_path, ending):
    with TableWriter(tmp_path / f"t{ending}") as writer:
        writer.write(_batch(0, 0))
    assert open_table(tmp_path / f"t{ending}").read().names == _batch(0).names


@pytest.mark.parametrize("ending", _ENDINGS)
def test_an_error_leaves_nothing(tmp_path, ending):
    def stop() -> None:
        with TableWriter(tmp_path / f"t{ending}") as writer:
            writer.write(_batch(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    with TableWriter(tmp_path / f"t{ending}"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_overwritten(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("mine")
    with pytest.raises(UserError, match=r"t\.csv exists already"):
        TableWriter(path)
    assert path.read_text() == "mine"


def test_a_file_that_came_in_the_meantime_is_kept(tmp_path):
    path = tmp_path / "t.csv"

    def write() -> None:
        with TableWriter(path) as writer:
            writer.write(_batch(0))
            path.write_text("mine")

    with pytest.raises(UserError, match=r"t\.csv exists already"):
        write()
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("t.xlsx", r"cannot write .*t\.xlsx: its name must end in \.csv, \.tsv, \.parquet or \.feather"),
        ("none/t.csv", r"the folder .*none does not exist"),
        ("folder.csv", r"folder\.csv is a folder"),
    ],
)
def test_refused_paths(tmp_path, path, why):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserError, match=why):
        TableWriter(tmp_path / path)


def test_batches_must_be_alike(tmp_path):
    def write(second: Table) -> None:
        with TableWriter(tmp_path / "t.parquet") as writer:
            writer.write(Table({"a": np.array([1, 2])}))
            writer.write(second)

    with pytest.raises(UserError, match="begun with other columns: a"):
        write(Table({"b": np.array([1])}))
    with pytest.raises(UserError, match="column 'a' was begun with values of type int64"):
        write(Table({"a": np.array([1.5])}))
