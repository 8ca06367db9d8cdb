import copy
import pickle

import pytest
import torch

from scnf.bijections import InvertibleLinear, LULinear, PrincipalComponents
from scnf.bijections.linear import make_linear


@pytest.fixture
def slogdets(monkeypatch):
    """Count the determinants that are computed."""
    calls = []
    original = torch.linalg.slogdet
    monkeypatch.setattr(torch.linalg, "slogdet", lambda matrix: calls.append(1) or original(matrix))
    return calls


def set_weight(layer: InvertibleLinear, factor: float) -> None:
    with torch.no_grad():
        layer.weight.mul_(factor)


@torch.no_grad()
def test_determinant_is_kept_while_the_weight_stays(slogdets):
    layer, x = InvertibleLinear(3), torch.randn(4, 3)
    for _ in range(3):
        layer.inverse(layer(x)[0])
    assert len(slogdets) == 1


@torch.no_grad()
def test_determinant_follows_the_weight(slogdets):
    layer, x = InvertibleLinear(3), torch.randn(4, 3)
    layer(x)
    set_weight(layer, 2.0)
    z, ladj = layer(x)
    torch.testing.assert_close(ladj, torch.full((4,), 8.0).log())
    torch.testing.assert_close(layer.inverse(z)[0], x)
    assert len(slogdets) == 2


def test_determinant_follows_an_optimiser_step():
    layer, x = InvertibleLinear(3), torch.randn(4, 3)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=True)
    for _ in range(3):
        with torch.no_grad():
            layer.inverse(x)
        layer(x)[0].square().sum().backward()
        optimizer.step()
        with torch.no_grad():
            z, ladj = layer(x)
            torch.testing.assert_close(ladj[0], torch.linalg.slogdet(layer.weight).logabsdet)
            torch.testing.assert_close(layer.inverse(z)[0], x, rtol=1e-4, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_has_a_determinant_of_its_own(duplicate):
    layer, x = InvertibleLinear(3), torch.randn(4, 3)
    before = layer(x)[1]
    other = duplicate(layer)
    set_weight(other, 2.0)
    torch.testing.assert_close(other(x)[1], torch.full((4,), 8.0).log())
    torch.testing.assert_close(layer(x)[1], before)


@torch.no_grad()
@pytest.mark.parametrize("assign", [False, True])
def test_loaded_weights_get_their_own_determinant(assign):
    layer, x = InvertibleLinear(3), torch.randn(4, 3)
    layer(x)
    layer.load_state_dict({"weight": 3 * torch.eye(3)}, assign=assign)
    z, ladj = layer(x)
    torch.testing.assert_close(ladj, torch.full((4,), 27.0).log())
    torch.testing.assert_close(layer.inverse(z)[0], x)


@torch.no_grad()
def test_the_cache_follows_the_dtype():
    layer = InvertibleLinear(3)
    layer(torch.randn(4, 3))
    assert layer.double()(torch.randn(4, 3).double())[1].dtype == torch.float64


def test_a_frozen_layer_passes_gradients_after_inference_mode():
    """What is cached in inference mode must serve autograd later."""
    layer = InvertibleLinear(3).requires_grad_(False)
    with torch.inference_mode():
        layer(torch.randn(4, 3))
    z = torch.randn(4, 3, requires_grad=True)
    x, ladj = layer.inverse(z)
    (x.sum() + ladj.sum()).backward()
    torch.testing.assert_close(z.grad, torch.linalg.inv(layer.weight).sum(0).expand(4, 3))


def test_gradient_of_the_log_det_is_the_inverse_transposed():
    layer, x = InvertibleLinear(3), torch.randn(5, 2 * 3).view(5, 3, 2, 1)
    with torch.no_grad():
        layer(x)  # a filled cache must not cut the gradient
    layer(x)[1].sum().backward()
    torch.testing.assert_close(layer.weight.grad, 10 * torch.linalg.inv(layer.weight.detach()).T)


@pytest.mark.parametrize("kind", ["full", "lu"])
def test_starts_at_a_rotation(kind):
    layer, x = make_linear(kind, 4), torch.randn(6, 4)
    z, ladj = layer(x)
    torch.testing.assert_close(z.norm(dim=1), x.norm(dim=1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ladj, torch.zeros(6), atol=1e-5, rtol=0)


def test_lu_stays_invertible_wherever_its_parameters_go():
    """The optimiser may send the triangles and the diagonal anywhere, also to what used to be masked."""
    layer = LULinear(4).double()
    for seed in range(20):
        torch.manual_seed(seed)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(2 * torch.randn(parameter.shape))
        x = torch.randn(3, 4).double()
        z, ladj = layer(x)
        torch.testing.assert_close(layer.inverse(z)[0], x, rtol=1e-6, atol=1e-6)
        matrix = layer(torch.eye(4).double())[0].T
        torch.testing.assert_close(torch.linalg.slogdet(matrix).logabsdet, ladj[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["full", "lu"])
def test_an_image_is_mapped_pixel_by_pixel(kind):
    layer, x = make_linear(kind, 3), torch.randn(2, 3, 4, 5)
    z, ladj = layer(x)
    pixel, pixel_ladj = layer(x[:, :, 1, 2])
    torch.testing.assert_close(z[:, :, 1, 2], pixel)
    torch.testing.assert_close(ladj, 20 * pixel_ladj, atol=1e-4, rtol=1e-4)


def test_principal_components_are_uncorrelated_and_the_strongest_last():
    torch.manual_seed(0)
    mixing = torch.randn(4, 4)
    x = torch.randn(500, 4) @ torch.diag(torch.tensor([0.1, 3.0, 1.0, 0.3])) @ mixing + 5
    layer = PrincipalComponents(4)
    z = layer.initialize(x)
    torch.testing.assert_close(z.T @ z / len(z), torch.eye(4), atol=1e-4, rtol=0)
    assert bool((layer.std.diff() > 0).all())
    expected = torch.linalg.eigvalsh(torch.cov(x.T, correction=0)).sqrt()
    torch.testing.assert_close(layer.std, expected, atol=1e-4, rtol=1e-4)


def test_principal_components_of_a_constant_column_are_finite():
    x = torch.cat([torch.randn(20, 2), torch.ones(20, 1)], dim=1)
    layer = PrincipalComponents(3)
    assert bool(layer.initialize(x).isfinite().all())
    assert bool(layer(x)[1].isfinite().all())
