import numpy as np
import pytest

from scnf.evaluation.labelling import expected_wrong, label_next


def test_gains_of_three_rows_are_those_of_the_formula():
    # Distances to the second neighbour are 3, 2 and 3, so r = 3: w = 8/9 of the first pair, 5/9 of the second.
    found = label_next(np.array([[0.0], [1.0], [3.0]]), np.array([0.2, 0.4, 0.1]), 3)
    assert found.rows.tolist() == [1, 2, 0]
    np.testing.assert_allclose(found.gains, [0.2 * 8 / 9 + 0.4 + 0.1 * 5 / 9, 0.1 * 4 / 9, 0.2 / 9])


def test_one_of_many_alike_is_chosen_and_the_sum_is_the_expected_number_of_mistakes():
    z = np.repeat([[0.0], [100.0], [1000.0]], [11, 11, 1], axis=0)
    wrong = np.repeat([0.3, 0.2, 0.5], [11, 11, 1])
    found = label_next(z, wrong, 4)
    assert z[found.rows[:3], 0].tolist() == [0, 100, 1000]
    np.testing.assert_allclose(found.gains, [3.3, 2.2, 0.5, 0], atol=1e-12)
    assert found.gains.sum() == pytest.approx(wrong.sum())


def test_a_row_that_is_sure_mends_nothing():
    z, wrong = np.random.default_rng(0).normal(size=(50, 3)), np.zeros(50)
    wrong[7] = 0.4
    found = label_next(z, wrong, 2)
    assert found.rows[0] == 7
    np.testing.assert_allclose(found.gains, [0.4, 0])


def test_no_more_rows_are_chosen_than_there_are():
    assert label_next(np.zeros((1, 2)), np.array([0.5]), 12).rows.tolist() == [0]
    assert sorted(label_next(np.eye(3), np.full(3, 0.5), 12).rows) == [0, 1, 2]


def test_the_probability_of_a_mistake():
    np.testing.assert_allclose(expected_wrong(np.array([[0.7, 0.3], [0.5, 0.5]])), [0.3, 0.5])
