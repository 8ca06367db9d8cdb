import math

import pytest
import torch

from scnf.bijections import BackgroundLogit, Logit

LEVELS = 256


def grid(start: float, end: float) -> torch.Tensor:
    """Return one row a value, ends included."""
    return torch.linspace(start, end, 1001, dtype=torch.float64)[:, None]


def test_ink_goes_through_the_logit():
    x = grid(1 / LEVELS, 1)
    for actual, expected in zip(BackgroundLogit(LEVELS)(x), Logit()(x), strict=True):
        assert torch.equal(actual, expected)


def test_the_background_becomes_a_gaussian_left_of_the_ink():
    layer = BackgroundLogit(LEVELS)
    x = grid(0, (1 - 1e-12) / LEVELS)
    z, _ = layer(x)
    edge = Logit()(torch.full((1, 1), 1 / LEVELS, dtype=torch.float64))[0].item()
    mean = edge - 3.1 * 0.05
    assert z.max() < edge
    assert edge - z.max() < 1e-3
    normal = torch.distributions.Normal(mean, torch.tensor(0.05, dtype=torch.float64))
    torch.testing.assert_close(normal.cdf(z), 0.001 + 0.998 * LEVELS * x, rtol=1e-9, atol=1e-12)


def test_background_and_ink_come_back_in_order():
    layer = BackgroundLogit(LEVELS)
    x = torch.cat([grid(0, (1 - 1e-12) / LEVELS), grid(1 / LEVELS, 1)])
    z, ladj = layer(x)
    assert (z.diff(dim=0) > 0).all()
    back, ladj_back = layer.inverse(z)
    torch.testing.assert_close(back, x, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(ladj_back, -ladj, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("levels", [17, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_lies_in_the_gap_comes_back_into_the_background(levels, dtype):
    layer = BackgroundLogit(levels)
    gap = torch.tensor([[-100.0], [math.nextafter(layer.edge, -1e9)], [layer.edge - 1e-4]], dtype=dtype)
    gap = gap[gap < layer.edge][:, None]
    x, ladj = layer.inverse(gap)
    assert (x * levels < 1).all()
    assert 0 <= x.min() < 1e-15
    assert torch.isfinite(ladj).all()


def test_the_gradient_is_finite_everywhere():
    x = grid(0, 1).requires_grad_()
    z, ladj = BackgroundLogit(LEVELS)(x)
    (gradient,) = torch.autograd.grad(z.sum() + ladj.sum(), x)
    assert torch.isfinite(gradient).all()


def test_a_single_level_has_no_ink():
    with pytest.raises(ValueError, match="at least 2, got 1"):
        BackgroundLogit(1)
