import pytest
import torch

from scnf.bijections import ActNorm, Chain, ContextAffine, FactorOut, Squeeze, Standardize


@pytest.mark.parametrize("layer_type", [ActNorm, Standardize])
@pytest.mark.parametrize("shape", [(3,), (3, 4, 4)], ids=["vector", "image"])
def test_initialize_gives_zero_mean_and_unit_variance(layer_type, shape):
    x = 5 + 3 * torch.randn(200, *shape)
    layer = layer_type(3)
    returned = layer.initialize(x)
    z = layer(x)[0]
    assert torch.equal(returned, z)
    values = z.transpose(0, 1).flatten(1)
    torch.testing.assert_close(values.mean(1), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(values.std(1, correction=0), torch.ones(3), atol=1e-5, rtol=0)


@pytest.mark.parametrize("layer_type", [ActNorm, Standardize])
def test_a_constant_channel_stays_finite(layer_type):
    x = torch.randn(50, 2)
    x[:, 1] = 7.0
    layer = layer_type(2)
    layer.initialize(x)
    z, ladj = layer(x)
    assert torch.isfinite(z).all()
    assert torch.isfinite(ladj).all()
    torch.testing.assert_close(z[:, 1], torch.zeros(50))
    torch.testing.assert_close(layer.inverse(z)[0], x)


@pytest.mark.parametrize("layer_type", [ActNorm, Standardize])
def test_one_row_stays_finite(layer_type):
    layer = layer_type(2)
    assert torch.isfinite(layer.initialize(torch.randn(1, 2))).all()


def test_actnorm_is_exact():
    layer = ActNorm(2)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, -1.0]))
        layer.log_scale.copy_(torch.tensor([2.0, 3.0]).log())
    z, ladj = layer(torch.tensor([[1.0, 1.0], [0.0, 2.0]]))
    torch.testing.assert_close(z, torch.tensor([[4.0, 0.0], [2.0, 3.0]]))
    torch.testing.assert_close(ladj, torch.tensor([6.0, 6.0]).log())


def test_context_affine_starts_as_the_identity():
    x = torch.randn(4, 3)
    z, ladj = ContextAffine(3, 2)(x, torch.randn(4, 2))
    assert torch.equal(z, x)
    assert torch.equal(ladj, torch.zeros(4))


def test_initialize_reaches_the_layers_inside_a_chain():
    """Each layer must see what the layers before it make of the batch."""
    first, second, deep = ActNorm(4), ActNorm(4), ActNorm(2)
    flow = Chain(Squeeze(), first, second, FactorOut(deep, (4, 2, 2), keep=2))
    x = 2 + 3 * torch.randn(64, 1, 4, 4)
    z = flow.initialize(x)
    assert torch.equal(z, flow(x)[0])
    assert (first.bias != 0).all()
    torch.testing.assert_close(second.log_scale, torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(deep.bias, torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(z.std(correction=0), torch.tensor(1.0), atol=1e-5, rtol=0)
