import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from scnf.data import download, load
from scnf.data.census import COLUMNS, NUMBERS, load_census, read_rows
from scnf.data.places import find_files
from scnf.data.published import CENSUS, TEST_TABLE, TRAIN_TABLE, tell_nobody
from scnf.errors import UserError
from tests.census_files import census_lines, write_census


@pytest.mark.parametrize("ending", ["", ".gz", ".txt", ".txt.gz"])
@pytest.mark.parametrize("layout", [".", "adult", "census"])
def test_rows_are_read_with_names_types_and_gaps(tmp_path: Path, ending: str, layout: str):
    folder = write_census(tmp_path / layout)
    for name in (TRAIN_TABLE, TEST_TABLE):
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / f"{name}{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    train, test = load_census(tmp_path)
    assert (len(train), len(test)) == (60, 40)
    assert train.names == test.names == COLUMNS
    assert all(train.columns[name].dtype == ("int64" if name in NUMBERS else object) for name in COLUMNS)
    assert [value is None for value in train.columns["workclass"][:5]] == [False, False, False, True, False]
    assert set(test.columns["income"]) == {"<=50K", ">50K"}, "the full stop of the test file is no part of the name"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("Private, ", ""), "line 1: there are 14 values, not 15"),
        (("<=50K", "poor"), "income is 'poor', not <=50K or >50K"),
        ((", 0, ", ", none, "), "holds 'none', but it is a whole number"),
        ((census_lines(20, 0), "\n"), "holds no rows"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: tuple[str, str], sentence: str):
    path = tmp_path / "adult.data"
    path.write_text(census_lines(20, 0).replace(*change))
    with pytest.raises(UserError, match=sentence.replace("(", "\\(")) as refusal:
        read_rows(path)
    assert str(path) in str(refusal.value)


def test_a_broken_file_is_named_with_the_way_to_a_new_one(tmp_path: Path):
    write_census(tmp_path)
    whole = gzip.compress((tmp_path / TRAIN_TABLE).read_bytes())
    (tmp_path / TRAIN_TABLE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"adult.data is damaged.*scnf data fetch census"):
        load_census(tmp_path)


def test_one_file_alone_is_not_enough(tmp_path: Path):
    write_census(tmp_path)
    (tmp_path / TEST_TABLE).unlink()
    with pytest.raises(UserError, match=r"lacks adult\.test \(with or without \.gz\) of census"):
        load_census(tmp_path)


def test_the_named_data_set_tells_income(tmp_path: Path):
    split = load("census", labels=10, seed=3, data_dir=write_census(tmp_path))
    assert split.classes == ("<=50K", ">50K")
    assert (split.labelled, len(split.x_train), len(split.x_test)) == (10, 60, 40)
    income = [line.rsplit(", ", 1)[1] for line in census_lines(40, 1, test=True).splitlines()[1:-1]]
    assert split.y_test.tolist() == [int(name == ">50K.") for name in income]


def test_files_are_downloaded_unpacked_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    there = write_census(tmp_path / "there")
    digests = {name: hashlib.sha256((there / name).read_bytes()).hexdigest() for name in CENSUS.files}
    asked = []

    class Copying:
        def __init__(self, part: Path, report):
            self.part = part

        def __call__(self, url: str, output_file: str, pooch, check_only: bool = False) -> None:
            asked.append(url)
            Path(output_file).write_bytes((there / url.rsplit("/", 1)[1]).read_bytes())

    monkeypatch.setattr(download, "ResumingDownloader", Copying)
    download.download(replace(CENSUS, sha256=digests), tmp_path / "here" / "adult", tell_nobody)
    assert asked == [CENSUS.mirrors[0] + name for name in CENSUS.files]
    found = find_files(CENSUS, tmp_path / "here")
    assert found is not None
    assert found.folder == tmp_path / "here" / "adult"
    assert sorted(CENSUS.sha256) == sorted(CENSUS.files), "the mirrors have them unpacked"
