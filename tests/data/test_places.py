import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from scnf.data import places
from scnf.data.obtain import fetch_files
from scnf.data.places import find_files, usual_folders, why_missing
from scnf.data.published import FASHION_MNIST, MNIST, TEST_LABELS, TRAIN_IMAGES, tell_nobody
from scnf.errors import UserError
from tests.idx_files import small_files, write_files


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    ("published", "layout"),
    [(MNIST, "."), (MNIST, "mnist"), (MNIST, "MNIST/raw"), (FASHION_MNIST, "."), (FASHION_MNIST, "fashion-mnist"),
     (FASHION_MNIST, "FashionMNIST/raw")],
)  # fmt: skip
def test_usual_layouts_are_found(tmp_path: Path, published, layout: str, ending: str):
    assert find_files(published, tmp_path) is None
    write_files(tmp_path / layout, small_files(), ending)
    files = find_files(published, tmp_path)
    assert files is not None
    assert files.folder == tmp_path / layout
    assert files[TEST_LABELS].name == TEST_LABELS + ending


def test_dots_in_names_are_found(tmp_path: Path):
    write_files(tmp_path, {name.replace("-idx", ".idx"): content for name, content in small_files().items()})
    assert find_files(MNIST, tmp_path) is not None


def test_the_folder_that_bears_the_name_comes_first(tmp_path: Path):
    write_files(tmp_path, small_files())
    write_files(tmp_path / "fashion-mnist", small_files())
    files = find_files(FASHION_MNIST, tmp_path)
    assert files is not None
    assert files.folder == tmp_path / "fashion-mnist"


def test_order_of_the_usual_folders(no_data: Path, monkeypatch: pytest.MonkeyPatch):
    for place in (no_data / "system", no_data / "data", no_data / "cache" / "scnf", no_data / "own"):
        monkeypatch.setenv("SCNF_DATA_DIR", str(no_data / "own"))
        write_files(place / "mnist", small_files())
        files = find_files(MNIST)
        assert files is not None
        assert files.folder.resolve() == place / "mnist"


def test_downloads_go_to_the_cache_unless_a_folder_is_set(no_data: Path, monkeypatch: pytest.MonkeyPatch):
    assert places.download_folder() == no_data / "cache" / "scnf"
    monkeypatch.setenv("SCNF_DATA_DIR", "~/own")
    assert places.download_folder() == no_data / "own" == usual_folders()[0]


def test_debians_folder_is_looked_into():
    assert Path("/usr/share/datasets") in usual_folders()


def test_files_known_to_be_another_data_sets_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    owned = hashlib.sha256(small_files()[TEST_LABELS]).hexdigest()
    monkeypatch.setattr(places, "PUBLISHED", (replace(MNIST, test_labels_sha256=owned), FASHION_MNIST))
    write_files(tmp_path, small_files(), ".gz")
    assert find_files(MNIST, tmp_path) is not None
    assert find_files(FASHION_MNIST, tmp_path) is None
    assert why_missing(FASHION_MNIST, tmp_path) == f"{tmp_path} holds the files of mnist, not of fashion-mnist"
    # Nor does a download go over them.
    folder = tmp_path / "fashion-mnist"
    write_files(folder, small_files(), ".gz")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    told = f"{folder} is where fashion-mnist would go, but holds the files of mnist, which are not overwritten"
    with pytest.raises(UserError, match=told):
        fetch_files(FASHION_MNIST, tmp_path, tell_nobody)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_why_files_are_missing_is_told(tmp_path: Path):
    assert why_missing(MNIST, tmp_path / "none") == f"the folder {tmp_path}/none does not exist"
    sentence = why_missing(MNIST, tmp_path)
    assert sentence.startswith(f"{tmp_path} does not hold mnist: no {TRAIN_IMAGES}, ")
    assert sentence.endswith("nor in mnist or MNIST/raw")
    write_files(tmp_path / "MNIST" / "raw", small_files())
    (tmp_path / "MNIST" / "raw" / TEST_LABELS).unlink()
    assert why_missing(MNIST, tmp_path) == (f"{tmp_path}/MNIST/raw lacks {TEST_LABELS} (with or without .gz) of mnist")


def test_a_damaged_file_is_found_and_left_to_the_reader(tmp_path: Path):
    write_files(tmp_path, {**small_files(), TEST_LABELS: b"\x1f\x8b no gzip stream"})
    assert find_files(MNIST, tmp_path) is not None
