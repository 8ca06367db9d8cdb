import numpy as np
import pytest
import torch

from scnf.evaluation.calibration import best_temperature, cross_fitted_temperature, reliability
from scnf.evaluation.metrics import expected_calibration_error
from tests.helpers import blobs, small_recipe


@pytest.mark.parametrize("temperature", [0.5, 1.0, 7.0])
def test_the_temperature_of_known_posteriors_is_found(temperature):
    generator = torch.Generator().manual_seed(0)
    log_joint = 2 * torch.randn(20_000, 4, generator=generator, dtype=torch.float64)
    y = torch.multinomial(log_joint.softmax(1), 1, generator=generator)[:, 0]
    assert best_temperature(log_joint * temperature, y) == pytest.approx(temperature, rel=0.05)


def test_no_mistake_in_few_rows_is_no_proof():
    y = torch.arange(20) % 2
    log_joint = 1000.0 * torch.nn.functional.one_hot(y, 2)
    posterior = (log_joint / best_temperature(log_joint, y)).softmax(1)
    torch.testing.assert_close(posterior.max(1).values, torch.full((20,), 21 / 22), atol=1e-3, rtol=0)


def test_what_tells_nothing_changes_nothing():
    assert best_temperature(torch.zeros(5, 1), torch.zeros(5, dtype=torch.int64)) == 1
    assert best_temperature(torch.full((2, 2), torch.nan), torch.tensor([0, 1])) == 1


def test_a_temperature_comes_from_hidden_labels_alone(monkeypatch):
    from scnf.evaluation import calibration

    seen = []
    original = calibration.fit

    def fit(recipe, data, seed):
        seen.append((data.y >= 0).nonzero()[:, 0].tolist())
        return original(recipe, data, seed)

    monkeypatch.setattr(calibration, "fit", fit)
    temperature = cross_fitted_temperature(small_recipe(h={"kind": "gaussian"}, n_init=3), blobs(), seed=0)
    assert 0.05 < temperature < 10_000
    hidden = [set(range(10)) - set(rows) for rows in seen]
    assert set.union(*hidden) == set(range(10))
    assert sum(map(len, hidden)) == 10


def test_one_label_of_a_class_cannot_be_hidden():
    data = blobs(labelled=2)
    assert cross_fitted_temperature(small_recipe(h={"kind": "gaussian"}), data, seed=0) == 1


def test_reliability_has_the_calibration_error_of_the_metrics():
    generator = torch.Generator().manual_seed(1)
    log_joint = torch.randn(500, 3, generator=generator)
    y = torch.randint(0, 3, (500,), generator=generator)
    found = reliability(log_joint.softmax(1).numpy(), y.numpy())
    assert found.rows.sum() == 500
    assert found.ece == pytest.approx(expected_calibration_error(log_joint, y), abs=1e-6)
    np.testing.assert_array_less(np.diff(found.confidence) * -1, 0)
