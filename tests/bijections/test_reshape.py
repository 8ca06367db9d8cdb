import math

import pytest
import torch

from scnf.bijections import ActNorm, Chain, FactorOut, Flatten, Logit, Squeeze


def test_squeeze_turns_blocks_into_channels():
    z, ladj = Squeeze(2)(torch.arange(16.0).view(1, 1, 4, 4))
    assert z[0, :, 0, 0].tolist() == [0, 1, 4, 5]
    assert z[0, :, 1, 1].tolist() == [10, 11, 14, 15]
    assert ladj.tolist() == [0]


def test_squeeze_refuses_an_odd_image():
    with pytest.raises(ValueError, match="7×8"):
        Squeeze(2).forward_shape((1, 7, 8))


def test_factor_out_puts_the_deepest_components_last():
    x = torch.arange(1.0, 6.0).view(1, 5)
    deep = FactorOut(Chain(), (3,), keep=1)
    nested = FactorOut(deep, (5,), keep=3)
    assert nested(x)[0].tolist() == [[1, 2, 3, 4, 5]]
    doubling = ActNorm(1)
    with torch.no_grad():
        doubling.log_scale.fill_(math.log(2))
    z, ladj = FactorOut(FactorOut(doubling, (3,), keep=1), (5,), keep=3)(x)
    torch.testing.assert_close(z, torch.tensor([[1.0, 2, 3, 4, 10]]))
    torch.testing.assert_close(ladj, torch.tensor([math.log(2)]))


@pytest.mark.parametrize("keep", [0, 4, 5])
def test_factor_out_must_keep_some_and_not_all(keep):
    with pytest.raises(ValueError, match=f"of 4 channels, got {keep}"):
        FactorOut(Chain(), (4,), keep)


def test_flatten_keeps_the_order():
    x = torch.randn(2, 3, 4, 5)
    assert torch.equal(Flatten((3, 4, 5))(x)[0], x.reshape(2, 60))


def test_logit_is_exact_and_finite_at_both_ends():
    z, ladj = Logit(alpha=0.1)(torch.tensor([[0.0], [0.5], [1.0]]))
    end = math.log(0.05 / 0.95)
    torch.testing.assert_close(z, torch.tensor([[end], [0.0], [-end]]))
    derivatives = torch.tensor([0.9 / (0.05 * 0.95), 0.9 / 0.25, 0.9 / (0.05 * 0.95)])
    torch.testing.assert_close(ladj, derivatives.log())


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_logit_refuses_a_bad_margin(alpha):
    with pytest.raises(ValueError, match="alpha"):
        Logit(alpha)
