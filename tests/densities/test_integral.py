"""A density integrates to one: flow, log-determinants, base and label prior together."""

import pytest
import torch

from scnf.recipes.build import build_model
from tests.helpers import randomize, small_recipe

PARTS = {
    "affine": {"kind": "coupling", "steps": 2, "hidden": [8]},
    "affine-lu": {"kind": "coupling", "steps": 2, "hidden": [8], "linear": "lu", "scale": "sigmoid"},
    "spline": {"kind": "coupling", "steps": 2, "hidden": [8], "map": "spline", "bound": 4.0},
    "ffjord": {"kind": "ffjord", "hidden": 8, "solver": "rk4", "solver_steps": 4},
    "gaussian": {"kind": "gaussian"},
}


@torch.no_grad()
@pytest.mark.parametrize(
    ("f", "h"),
    [
        ("affine", "affine"),
        ("affine-lu", "gaussian"),
        ("spline", "spline"),
        ("ffjord", "ffjord"),
        ("ffjord", "affine"),
    ],
)
def test_density_integrates_to_one(f, h):
    spec = small_recipe(f=PARTS[f], h=PARTS[h]).model
    model = randomize(build_model(spec, (2,), classes=3), scale=0.35).double()
    step = 0.1
    axis = torch.arange(-12, 12, step).double()
    total = model.log_prob(torch.cartesian_prod(axis, axis)).exp().sum() * step**2
    assert total.item() == pytest.approx(1, abs=5e-3)  # the grid is coarse for the kinks of a spline
