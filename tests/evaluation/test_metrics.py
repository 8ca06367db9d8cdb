import math

import pytest
import torch
from torch import Tensor, nn

from scnf.bijections import Chain
from scnf.densities import GaussianPerClass
from scnf.evaluation.metrics import (
    error_percent,
    evaluate,
    expected_calibration_error,
    log_joint_of,
    mean_nll,
    rows_in_a_batch,
)
from scnf.model import SemiConditionalFlow
from scnf.recipes.build import build_model
from tests.helpers import randomize, small_recipe

PROBABILITIES = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.4, 0.6]])


class Uniform(nn.Module):
    """p(x) = 1 on [0, 1]^D and nothing outside, both classes alike."""

    def __init__(self, dimensions: int):
        super().__init__()
        self.dimensions = dimensions

    def log_joint(self, x: Tensor) -> Tensor:
        inside = ((x >= 0) & (x < 1)).flatten(1).all(1)
        return torch.where(inside, math.log(0.5), -math.inf)[:, None].expand(len(x), 2)


def test_error_percent():
    y = torch.tensor([0, 1, 1, 1])
    assert error_percent(PROBABILITIES.log(), y) == 25
    assert error_percent(PROBABILITIES.log(), 1 - y) == 75


def test_calibration_error_is_exact():
    # Bins of width 0.1: 0.9 right, 0.6 wrong and 0.6 right together, 0.8 right.
    y = torch.tensor([0, 1, 1, 1])
    expected = (abs(0.9 - 1) + abs(1.2 - 1) + abs(0.8 - 1)) / 4
    assert expected_calibration_error(PROBABILITIES.double().log(), y, bins=10) == pytest.approx(expected)


def test_a_calibrated_model_has_no_calibration_error():
    log_joint = torch.tensor([[0.75, 0.25]]).log().expand(400, 2)
    y = (torch.arange(400) % 4 == 0).long()
    assert expected_calibration_error(log_joint, y) == pytest.approx(0, abs=1e-6)


def test_certainty_falls_into_the_last_bin():
    log_joint = torch.tensor([[0.0, -1000.0], [0.0, -1000.0]])
    assert expected_calibration_error(log_joint, torch.tensor([0, 1])) == pytest.approx(0.5)


@pytest.mark.parametrize("row", [[math.nan, 0.0], [-math.inf, -math.inf]])
def test_calibration_of_a_row_without_probabilities_is_unknown(row):
    log_joint = torch.cat([PROBABILITIES.log(), torch.tensor([row])])
    assert math.isnan(expected_calibration_error(log_joint, torch.tensor([0, 1, 1, 1, 0])))


def test_calibration_does_not_depend_on_the_density():
    y = torch.tensor([0, 1, 1, 1])
    plain = expected_calibration_error(PROBABILITIES.log(), y)
    assert expected_calibration_error(PROBABILITIES.log() - 50, y) == pytest.approx(plain, abs=1e-5)


def test_mean_nll():
    joint = torch.tensor([[0.1, 0.3], [0.5, 0.3]])
    assert mean_nll(joint.log()) == pytest.approx(-(math.log(0.4) + math.log(0.8)) / 2)


@pytest.mark.parametrize("levels", [2, 17, 256])
@pytest.mark.parametrize("shape", [(3,), (1, 4, 4)])
def test_a_uniform_density_takes_log2_of_the_levels_bits(levels, shape):
    x = torch.randint(0, levels, (50, *shape))
    metrics = evaluate(Uniform(math.prod(shape)), x, torch.zeros(50, dtype=torch.long), levels)
    assert metrics["bits_per_dim"] == pytest.approx(math.log2(levels), rel=1e-6)
    assert metrics["nll"] == pytest.approx(math.prod(shape) * math.log(levels), rel=1e-6)
    assert metrics["error"] == 0


def test_continuous_data_have_no_bits_per_dim():
    model = SemiConditionalFlow(Chain(), GaussianPerClass(2, 2), (2,))
    with torch.no_grad():
        model.conditional.mean.zero_()
    x = torch.zeros(5, 2)
    metrics = evaluate(model, x, torch.tensor([0, 0, 0, 1, 1]))
    assert metrics.keys() == {"error", "nll", "ece"}
    assert metrics["nll"] == pytest.approx(math.log(2 * math.pi))
    assert metrics["ece"] == pytest.approx(0.1)  # half sure, and three of five right
    assert metrics["error"] == pytest.approx(40)


def test_batches_make_no_difference():
    model = SemiConditionalFlow(Chain(), GaussianPerClass(2, 3), (2,))
    x = torch.randn(11, 2)
    torch.testing.assert_close(log_joint_of(model, x, batch_size=4), model.log_joint(x).detach())
    assert not log_joint_of(model, x).requires_grad


@pytest.mark.parametrize(("dimensions", "rows"), [(2, 2048), (784, 334), (2**20, 1)])
def test_large_rows_go_in_small_batches(dimensions, rows):
    assert rows_in_a_batch(dimensions) == rows


def test_progress_is_told_after_every_batch():
    seen = []
    log_joint_of(Uniform(2), torch.zeros(11, 2), batch_size=4, on_rows=lambda *rows: seen.append(rows))
    assert seen == [(4, 11), (8, 11), (11, 11)]


def test_probes_are_the_same_in_every_pass():
    f = {"kind": "ffjord", "hidden": 4, "trace": "hutchinson"}
    model = randomize(build_model(small_recipe(f=f).model, (2,), 2)).eval()
    x = torch.randn(6, 2)
    first = log_joint_of(model, x, batch_size=3)
    state = torch.get_rng_state()
    assert torch.equal(first, log_joint_of(model, x, batch_size=3))
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(first, log_joint_of(model, x, batch_size=3, seed=1))


def test_dequantisation_is_repeatable_and_differs_between_rows():
    model = SemiConditionalFlow(Chain(), GaussianPerClass(2, 3), (2,))
    x = torch.zeros(6, 2, dtype=torch.uint8)
    first = log_joint_of(model, x, levels=4, batch_size=3)
    assert torch.equal(first, log_joint_of(model, x, levels=4, batch_size=3))
    assert not torch.equal(first[:3], first[3:])
    assert not torch.equal(first, log_joint_of(model, x, levels=4, batch_size=3, seed=1))
