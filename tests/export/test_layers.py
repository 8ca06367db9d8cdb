import pytest
import torch

from scnf.bijections import FFJORD, Chain, MLPDynamics
from scnf.export.layers import fix_layers
from tests.helpers import randomize


def fixed(layer: FFJORD, ode_steps: int) -> Chain:
    chain = Chain(layer)
    fix_layers(chain, ode_steps)
    return chain


@pytest.mark.parametrize("context", [None, torch.eye(3)], ids=["alone", "with a context"])
@pytest.mark.parametrize("solver", ["euler", "midpoint", "rk4"])
def test_steps_that_were_fixed_before_stay_what_they_are(solver: str, context: torch.Tensor | None):
    dynamics = randomize(MLPDynamics(2, 8, 0 if context is None else 3), 2.0)
    layer = FFJORD(dynamics, time=1.5, solver=solver, steps=3).eval()
    x = torch.randn(6, 2)
    for told, right in zip(fixed(layer, 50)(x, context), layer(x, context), strict=True):
        torch.testing.assert_close(told, right, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_fixed_steps_come_near_an_adaptive_solver():
    layer = FFJORD(randomize(MLPDynamics(2, 8), 2.0), solver="dopri5", rtol=1e-9, atol=1e-9).eval().double()
    x = torch.randn(6, 2, dtype=torch.float64)
    z, ladj = layer(x)
    errors = []
    for steps in (4, 8, 16):
        z_fixed, ladj_fixed = fixed(layer, steps)(x)
        errors.append(float((z_fixed - z).abs().max() + (ladj_fixed - ladj).abs().max()))
    # Of fourth order: half the step, a sixteenth of the error.
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 8
    assert errors[2] < 1e-4
