import numpy as np
import pytest

from scnf.errors import UserError
from scnf.evaluation.probes import majority_share, probe_accuracies


def test_where_nothing_is_to_be_seen_probes_have_the_majoritys_share():
    y = np.repeat([0, 1], [30, 10])
    assert majority_share(y) == 0.75
    assert [result.accuracy for result in probe_accuracies(np.zeros((40, 2)), y)] == [0.75, 0.75]


def test_one_probe_sees_what_is_not_linear():
    z = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    z = z[np.abs(z).min(1) > 0.2]
    linear, curved = (result.accuracy for result in probe_accuracies(z, (z[:, 0] * z[:, 1] > 0).astype(int)))
    assert linear < 0.7
    assert curved > 0.97


@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 0, 0, 1], []])
def test_too_few_labels_are_refused(y: list[int]):
    with pytest.raises(UserError, match="two classes with two labelled rows each"):
        probe_accuracies(np.zeros((len(y), 1)), np.array(y))
