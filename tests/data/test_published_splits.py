"""Splits of the real images, checked where those are here."""

from pathlib import Path

import numpy as np
import pytest

from scnf.data import load, locate

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
# Ten labels, seed 0.
ROWS = {
    "mnist": [3167, 6229, 8355, 19828, 20069, 26385, 40968, 44026, 44970, 58642],
    "fashion-mnist": [2563, 10469, 12112, 22713, 23106, 29180, 38517, 42910, 50254, 50698],
}


@pytest.mark.parametrize("name", ROWS)
def test_this_split_is_the_same_on_every_machine(name: str):
    if locate(name) is None:
        pytest.skip(f"{name} is not here")
    assert np.flatnonzero(load(name, labels=10, seed=0).y_train >= 0).tolist() == ROWS[name]


@pytest.mark.parametrize("name", ROWS)
def test_the_page_tells_the_same(name: str):
    *most, last = map(str, ROWS[name])
    assert f"{', '.join(most)} and {last}" in " ".join(PAGE.read_text(encoding="utf-8").split())
