from dataclasses import replace

import numpy as np
import pytest

from scnf.data import SOURCES, fetch, find_source, load, locate
from scnf.data.published import TEST_LABELS
from scnf.errors import UserError
from scnf.recipes import shipped_recipes
from tests.idx_files import published_at, serve, small_files, write_files, zipped

pytestmark = pytest.mark.usefixtures("small_images_found")


@pytest.mark.parametrize("name", SOURCES)
def test_source(name):
    split, again, other = load(name, seed=3), load(name, seed=3), load(name, seed=4)
    assert split.labelled == SOURCES[name].default_labels
    assert len(split.x_train) == len(split.y_train)
    assert len(split.x_test) == len(split.y_test) > 100
    assert np.array_equal(split.x_train, again.x_train)
    assert np.array_equal(split.y_train, again.y_train)
    assert not np.array_equal(split.y_train, other.y_train)
    classes = set(range(len(split.classes)))
    assert set(split.y_test.tolist()) == classes
    assert set(split.y_train.tolist()) == {-1} | classes
    if split.levels is None:
        assert np.issubdtype(split.x_train.dtype, np.floating)
    else:
        assert np.issubdtype(split.x_train.dtype, np.integer)
        assert 0 <= split.x_train.min() <= split.x_train.max() == split.levels - 1


@pytest.mark.parametrize("name", SOURCES)
def test_number_of_labels(name):
    classes = len(load(name).classes)
    split = load(name, labels=2 * classes)
    assert np.unique(split.y_train[split.y_train >= 0], return_counts=True)[1].tolist() == [2] * classes


def test_training_and_test_rows_are_different():
    split = load("moons")
    assert not {tuple(row) for row in split.x_train.tolist()} & {tuple(row) for row in split.x_test.tolist()}


@pytest.mark.parametrize("name", SOURCES)
def test_default_recipe_is_shipped(name):
    assert SOURCES[name].default_recipe in shipped_recipes()


def test_unknown_name_is_refused():
    with pytest.raises(UserError, match="'moon'; known are moons"):
        find_source("moon")
    with pytest.raises(UserError, match="'moon'"):
        load("moon")


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(UserError, match="seed"):
        load("moons", seed=seed)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_published_images(name, small_images):
    split = load(name, labels=30, seed=5)
    assert (split.x_train.shape, split.x_test.shape) == ((200, 1, 28, 28), (120, 1, 28, 28))
    assert split.x_train.dtype == split.x_test.dtype == np.uint8
    assert (split.levels, len(split.classes)) == (256, 10)
    named = load(name, labels=30, seed=5, data_dir=str(small_images))
    assert np.array_equal(named.x_train, split.x_train)
    assert np.array_equal(named.y_train, split.y_train)
    # The rows and their order are the file's whatever the seed: it says only which labels are kept.
    other = load(name, labels=30, seed=6)
    assert np.array_equal(other.x_train, split.x_train)
    assert not np.array_equal(other.y_train, split.y_train)


def test_a_named_folder_is_the_only_one_that_is_looked_into(tmp_path):
    with pytest.raises(UserError, match=f"does not hold mnist: .*; `scnf data fetch mnist --data-dir {tmp_path}`"):
        load("mnist", data_dir=tmp_path)


@pytest.mark.parametrize("ask", [fetch, lambda name, file: load(name, data_dir=file)], ids=["fetch", "load"])
def test_a_file_in_the_place_of_a_folder_is_told(tmp_path, ask):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"^{tmp_path}/file is a file; name the folder"):
        ask("mnist", tmp_path / "file")


def test_a_damaged_file_is_named_and_how_to_replace_it(tmp_path, monkeypatch):
    write_files(tmp_path, {**small_files(), TEST_LABELS: b"damaged"})
    told = rf"{TEST_LABELS} has the wrong magic number .*; .*`scnf data fetch mnist --data-dir {tmp_path}`"
    with pytest.raises(UserError, match=told):
        load("mnist", data_dir=tmp_path)
    monkeypatch.setenv("SCNF_DATA_DIR", str(tmp_path))
    with pytest.raises(UserError, match=r"once what is damaged is removed, `scnf data fetch mnist` gets it anew"):
        load("mnist")
    with pytest.raises(UserError, match=f"{TEST_LABELS} has the wrong magic number"):
        fetch("mnist", tmp_path)


def test_files_are_located():
    assert locate("moons") is None
    assert locate("mnist").name == "mnist"
    assert fetch("digits") is None


def test_what_is_not_here_is_downloaded_once(no_data, monkeypatch):
    files = zipped(small_files())
    with serve(files) as mirror:
        source = SOURCES["mnist"]
        monkeypatch.setitem(SOURCES, "mnist", replace(source, published=published_at(mirror.url, files=files)))
        reports = []
        load("mnist", on_download=lambda *report: reports.append(report))
    assert reports
    assert locate("mnist") == no_data / "cache" / "scnf" / "mnist"
    assert len(load("mnist").x_test) == 120  # the mirror is gone
