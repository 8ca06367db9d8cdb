import pytest

from scnf import load_split
from scnf.baselines.sklearn import BASELINES, run_baseline


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("data", ["circles", "digits"])
def test_every_baseline_beats_chance(name, data):
    split = load_split(data, seed=0)
    result = run_baseline(name, split)
    assert result.name == name
    assert 0 <= result.error < 20
    assert result.seconds > 0
