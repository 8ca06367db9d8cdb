"""What all class-conditional densities have in common."""

import pytest
import torch

from scnf.bijections import FFJORD, ActNorm, Chain, ContextAffine, MLPDynamics
from scnf.bijections.coupling import AffineMap
from scnf.bijections.masks import ChannelMask
from scnf.densities import (
    Autoregressive,
    ClassConditional,
    ConditionalFlow,
    DiagonalNormal,
    FixedGaussians,
    FlowPerClass,
    GaussianPerClass,
)
from tests.bijections.cases import coupling
from tests.helpers import randomize

FEATURES, CLASSES = 3, 4


def coupling_flow() -> ConditionalFlow:
    step = Chain(coupling(ChannelMask(FEATURES), AffineMap(), False, CLASSES), ContextAffine(FEATURES, CLASSES))
    return ConditionalFlow(step, FEATURES, CLASSES)


def flow_per_class() -> FlowPerClass:
    flows = [Chain(coupling(ChannelMask(FEATURES), AffineMap(), False, 0), ActNorm(FEATURES)) for _ in range(CLASSES)]
    return FlowPerClass(flows, (FEATURES,))


KINDS = {
    "gaussian-diagonal": lambda: GaussianPerClass(FEATURES, CLASSES, "diagonal"),
    "gaussian-full": lambda: GaussianPerClass(FEATURES, CLASSES, "full"),
    "fixed-gaussians": lambda: FixedGaussians(FEATURES, CLASSES, 5.0),
    "flow-per-class": flow_per_class,
    "maf": lambda: Autoregressive(FEATURES, CLASSES, steps=2, hidden=(8,)),
    "nsf": lambda: Autoregressive(FEATURES, CLASSES, steps=2, hidden=(8,), map="spline"),
    "coupling": coupling_flow,
    "ffjord": lambda: ConditionalFlow(FFJORD(MLPDynamics(FEATURES, 8, CLASSES), steps=16), FEATURES, CLASSES),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def density(request) -> ClassConditional:
    return randomize(request.param()).double()


@pytest.fixture
def z() -> torch.Tensor:
    return torch.randn(8, FEATURES).double()


def test_log_prob_is_the_column_of_log_prob_all(density, z):
    y = torch.arange(8) % CLASSES
    everything = density.log_prob_all(z)
    assert everything.shape == (8, CLASSES)
    torch.testing.assert_close(density.log_prob(z, y), everything[torch.arange(8), y])


def test_classes_differ(density, z):
    everything = density.log_prob_all(z)
    assert (everything[:, 0] - everything[:, 1]).abs().min() > 1e-4


def test_one_row_is_a_batch(density, z):
    torch.testing.assert_close(density.log_prob_all(z[:1]), density.log_prob_all(z)[:1])
    assert density.log_prob(z[:1], torch.tensor([1])).shape == (1,)


def test_encode_and_decode_undo_each_other(density, z):
    y = torch.arange(8) % CLASSES
    z_h = density.encode(z, y)
    assert z_h.shape == z.shape
    torch.testing.assert_close(density.decode(z_h, y), z, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(density.decode(z_h, (y + 1) % CLASSES), z, atol=1e-2)


def test_log_prob_is_the_change_of_variables_of_encode(density, z):
    y = torch.arange(8) % CLASSES
    z_h = density.encode(z, y)
    for row in range(3):
        jacobian = torch.autograd.functional.jacobian(
            lambda value, label=y[row : row + 1]: density.encode(value, label)[0], z[row : row + 1]
        )[:, 0]
        sigma = density.base.log_scale.exp() if isinstance(density, ConditionalFlow) else torch.ones(FEATURES).double()
        base = torch.distributions.Normal(torch.zeros_like(sigma), sigma).log_prob(z_h[row]).sum()
        expected = base + torch.linalg.slogdet(jacobian).logabsdet
        torch.testing.assert_close(density.log_prob(z, y)[row], expected, rtol=1e-4, atol=1e-4)


def test_sampling_without_temperature_gives_the_centre(density):
    y = torch.arange(CLASSES)
    with torch.no_grad():
        centre = density.decode(torch.zeros(CLASSES, FEATURES).double(), y)
        assert torch.equal(density.sample(y, temperature=0.0), centre)
        assert not torch.allclose(density.sample(y), centre)


def test_temperature_scales_the_base(density):
    torch.manual_seed(3)
    full = density.sample_base(5)
    torch.manual_seed(3)
    torch.testing.assert_close(density.sample_base(5, temperature=0.5), 0.5 * full)
    assert full.dtype == torch.float64


def test_every_parameter_gets_a_gradient(density, z):
    density.log_prob_all(z.requires_grad_()).square().sum().backward()
    assert z.grad is not None  # fixed Gaussians have no parameter at all
    for name, parameter in density.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_diagonal_normal_against_torch():
    normal = randomize(DiagonalNormal(3)).double()
    x = torch.randn(6, 3).double()
    peer = torch.distributions.Normal(torch.zeros(3).double(), normal.log_scale.exp())
    torch.testing.assert_close(normal.log_prob(x), peer.log_prob(x).sum(1))
    with torch.no_grad():
        deviation = normal.sample(50_000).std(0)
    torch.testing.assert_close(deviation, normal.log_scale.detach().exp(), rtol=0.02, atol=0)


def test_initialize_gives_hidden_rows_the_classes_in_turn():
    seen = []

    class Spy(Chain):
        def initialize(self, x, context=None):
            seen.append(context)
            return x

    ConditionalFlow(Spy(), 2, 3).initialize(torch.randn(5, 2), torch.tensor([2, -1, -1, 0, -1]))
    assert seen[0].argmax(1).tolist() == [2, 1, 2, 0, 1]
