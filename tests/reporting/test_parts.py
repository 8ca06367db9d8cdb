import numpy as np
import pytest

from scnf.reporting.curves import best_restart, training_pictures
from scnf.reporting.latent_sections import flat_map
from scnf.reporting.material import RowSet
from scnf.reporting.quality_section import confusion_counts
from scnf.reporting.telling import certainty, error_interval
from tests.helpers import small_recipe


def _rows(labelled: int, hidden: int) -> RowSet:
    codes = np.concatenate([np.zeros(labelled, int), np.full(hidden, -1)])
    numbers = np.arange(len(codes))
    return RowSet("training", numbers[:, None], codes, numbers)


@pytest.mark.parametrize(
    ("labelled", "hidden", "kept"), [(10, 20, 10), (10, 1000, 10), (1000, 10, 90), (500, 500, 50), (1000, 0, 100)]
)
def test_an_excerpt_keeps_labels_first_and_is_evenly_spread(labelled: int, hidden: int, kept: int):
    found = _rows(labelled, hidden).excerpt(100)
    assert len(found) == min(labelled + hidden, 100)
    assert int((found.codes >= 0).sum()) == kept
    assert found.x[:, 0].tolist() == found.numbers.tolist() == sorted(set(found.numbers.tolist()))
    assert found.numbers[-1] >= 0.9 * (labelled + hidden - 1)


def test_rows_are_called_by_their_number_or_file():
    assert _rows(5, 0)[np.array([3])].name(0) == "row 4"
    assert RowSet("test", None, np.zeros(1), np.array([1]), ["a/0.png", "b/1.png"]).name(0) == "b/1.png"


def test_confusions_are_counted_by_true_class():
    counts = confusion_counts(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3)
    assert counts.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]


def test_words_for_numbers():
    assert [certainty(share) for share in (1.0, 0.5, 0.0001)] == ["> 99.9 %", "50.0 %", "< 0.1 %"]
    assert error_interval(0, 100) == "0.0 to 3.7 %"  # z² / (n + z²) with z = 1.96


@pytest.mark.parametrize(("rows", "width", "how"), [(9, 1, "components"), (9, 2, "components"), (9, 5, "PCA")])
def test_a_map_has_two_coordinates(rows: int, width: int, how: str):
    points, words = flat_map(np.random.default_rng(0).normal(size=(rows, width)))
    assert points.shape == (rows, 2)
    assert how in words


def test_curves_are_drawn_of_what_was_recorded():
    point = {"restart": 0, "step": 1, "loss": 2.0, "held_out": None, "labelled_error": None}
    history = [point, {**point, "step": 2, "loss": None}, {**point, "step": 3, "loss": 1.0, "held_out": 3.0}]
    titles = [picture.title for picture in training_pictures(history, [None], small_recipe())]
    assert titles == ["Training", "Rows kept aside"]
    assert training_pictures([], [], small_recipe()) == []
    assert best_restart([3.0, None, 1.0, float("nan")]) == 2
