import numpy as np
import pytest

from scnf.data import UNLABELED, hide_labels
from scnf.errors import UserError

Y = np.repeat([0, 1, 2], (50, 30, 20))


def counts(hidden: np.ndarray) -> list[int]:
    return [int((hidden == k).sum()) for k in (0, 1, 2)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(3, [1, 1, 1]), (9, [3, 3, 3]), (10, [4, 3, 3]), (70, [25, 25, 20]), (100, [50, 30, 20])],
)
def test_classes_get_equal_shares_while_rows_last(labels, expected):
    hidden = hide_labels(Y, labels, seed=0)
    assert counts(hidden) == expected
    kept = hidden != UNLABELED
    assert np.array_equal(hidden[kept], Y[kept])


def test_the_split_depends_on_the_seed_alone():
    np.random.seed(1)  # noqa: NPY002 (the state that must not matter)
    first = hide_labels(Y, 9, seed=4)
    np.random.seed(2)  # noqa: NPY002
    assert np.array_equal(first, hide_labels(Y, 9, seed=4))
    assert not np.array_equal(first, hide_labels(Y, 9, seed=5))


def test_this_split_is_the_same_on_every_machine():
    kept = np.flatnonzero(hide_labels(Y, 6, seed=0) != UNLABELED)
    assert kept.tolist() == [20, 38, 67, 76, 94, 96]


def test_the_labels_given_are_not_changed():
    y = Y.copy()
    hide_labels(y, 9, seed=0)
    assert np.array_equal(y, Y)


@pytest.mark.parametrize("labels", [0, 2, 101])
def test_too_few_or_too_many_labels_are_refused(labels):
    with pytest.raises(UserError, match=f"between 3 .* and 100 .* got {labels}"):
        hide_labels(Y, labels, seed=0)
