import numpy as np
import pytest

from scnf.data import SOURCES, find_source, load
from scnf.errors import UserError
from scnf.recipes import shipped_recipes


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
