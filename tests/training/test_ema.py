import pytest
import torch
from torch import nn

from scnf.training.ema import WeightAverage
from tests.helpers import weights_of


def set_all(module: nn.Module, value: float) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(value)


def test_average_is_exact():
    module = nn.Linear(1, 1)
    set_all(module, 0.0)
    average = WeightAverage(module, decay=0.5)
    set_all(module, 1.0)
    average.update(step=1000)
    assert average.average[0].item() == pytest.approx(0.5)
    average.update(step=1001)
    assert average.average[0].item() == pytest.approx(0.75)


def test_early_steps_count_more():
    module = nn.Linear(1, 1)
    set_all(module, 0.0)
    average = WeightAverage(module, decay=0.999)
    set_all(module, 1.0)
    average.update(step=0)
    assert average.average[0].item() == pytest.approx(0.9)


def test_applied_swaps_and_restores():
    module = nn.Linear(2, 3)
    average = WeightAverage(module, decay=0.9)
    held = weights_of(module)
    set_all(module, 5.0)
    with average.applied():
        assert all(torch.equal(value, held[name]) for name, value in module.state_dict().items())
    assert all((parameter == 5.0).all() for parameter in module.parameters())
    assert torch.equal(average.average[0], held["weight"])


def test_applied_restores_after_an_error():
    module = nn.Linear(2, 3)
    average = WeightAverage(module, decay=0.9)
    set_all(module, 5.0)
    with pytest.raises(KeyError), average.applied():
        raise KeyError
    assert all((parameter == 5.0).all() for parameter in module.parameters())


def test_the_average_is_no_alias_of_the_weights():
    module = nn.Linear(2, 3)
    average = WeightAverage(module, decay=1.0)
    before = average.average[0].clone()
    set_all(module, 5.0)
    average.update(step=10**9)
    torch.testing.assert_close(average.average[0], before)
