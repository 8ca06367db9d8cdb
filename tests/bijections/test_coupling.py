import math

import pytest
import torch

from scnf.bijections import AffineMap, ChannelMask, CheckerboardMask, SplineMap
from tests.bijections.cases import coupling
from tests.helpers import randomize


def test_affine_maps_are_exact():
    x, parameters = torch.tensor([[2.0]]), torch.tensor([[0.5, 1.0]])  # s, t
    scales = {"exp": math.exp(0.5), "sigmoid": 1 / (1 + math.exp(-2.5)), "tanh": math.exp(2 * math.tanh(0.25))}
    for name, scale in scales.items():
        z, log_derivative = AffineMap(name, bound=2.0)(x, parameters)
        assert z.item() == pytest.approx(2 * scale + 1, rel=1e-6), name
        assert log_derivative.item() == pytest.approx(math.log(scale), rel=1e-5), name


@pytest.mark.parametrize("s", [-1e4, 1e4])
def test_tanh_scale_stays_bounded(s):
    """A scale that reaches 0 makes sampling blow up."""
    parameters = torch.tensor([[s, 0.0]])
    x, _ = AffineMap("tanh", bound=1.5).inverse(torch.ones(1, 1), parameters)
    assert math.exp(-1.5) * 0.999 <= x.item() <= math.exp(1.5) * 1.001


def test_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="'softplus'"):
        AffineMap("softplus")


def test_spline_is_the_identity_outside_its_box():
    spline = SplineMap(bins=4, bound=2.0)
    x = torch.tensor([[-7.0, 9.0]])
    z, log_derivative = spline(x, torch.randn(1, 2 * spline.size))
    assert torch.equal(z, x)
    assert torch.equal(log_derivative, torch.zeros(1, 2))


def test_spline_parameters_belong_to_their_own_channel():
    spline = SplineMap(bins=4, bound=3.0)
    x, parameters = torch.tensor([[0.7, 0.7]]), torch.randn(1, spline.size, 2)
    z = spline(x, parameters.flatten(1))[0]
    alone = [spline(x[:, :1], parameters[:, :, i])[0] for i in range(2)]
    torch.testing.assert_close(z, torch.cat(alone, dim=1))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("mask_type", ["vector", "channel", "checkerboard"])
def test_kept_components_pass_and_the_others_move(mask_type, flip):
    image = mask_type != "vector"
    mask = CheckerboardMask((4, 6, 6), flip) if mask_type == "checkerboard" else ChannelMask(4, flip)
    x = torch.randn(3, 4, 6, 6) if image else torch.randn(3, 4)
    z = randomize(coupling(mask, AffineMap(), image))(x)[0]
    keep = mask.keep if mask_type == "checkerboard" else mask.keep.view(4, *[1] * (x.dim() - 2))
    kept = keep.expand(x.shape)
    assert torch.equal(z[kept], x[kept])
    assert (z[~kept] != x[~kept]).all()
    assert kept.float().mean() == 0.5


@pytest.mark.parametrize("mask_type", ["channel", "checkerboard"])
def test_flipped_masks_are_complements(mask_type):
    masks = [ChannelMask(5, f) if mask_type == "channel" else CheckerboardMask((1, 3, 5), f) for f in (False, True)]
    assert torch.equal(masks[0].keep, ~masks[1].keep)


def test_checkerboard_alternates():
    keep = CheckerboardMask((1, 4, 4)).keep
    assert (keep[1:] != keep[:-1]).all()
    assert (keep[:, 1:] != keep[:, :-1]).all()


def test_one_channel_cannot_be_split():
    with pytest.raises(ValueError, match="at least 2 channels, got 1"):
        ChannelMask(1)


@pytest.mark.parametrize(
    "elementwise", [AffineMap("exp"), AffineMap("tanh"), SplineMap()], ids=["exp", "tanh", "spline"]
)
def test_a_fresh_layer_is_the_identity(elementwise):
    x = torch.randn(3, 4)
    z, ladj = coupling(ChannelMask(4), elementwise, image=False)(x)
    torch.testing.assert_close(z, x)
    torch.testing.assert_close(ladj, torch.zeros(3), atol=1e-5, rtol=0)
