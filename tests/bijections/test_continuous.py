import pytest
import torch
from torch import Tensor

from scnf.bijections import FFJORD, Chain, Dynamics, MLPDynamics
from scnf.errors import UserError
from tests.bijections.cases import OpenDynamics
from tests.helpers import randomize


class LinearDynamics(Dynamics):
    """dx/dt = A x: the flow is a matrix exponential."""

    def __init__(self, matrix: Tensor):
        super().__init__()
        self.matrix = torch.nn.Parameter(matrix)

    def forward(self, t: Tensor, x: Tensor, context: Tensor | None = None) -> Tensor:
        return x @ self.matrix.T


def dynamics(kind: type[MLPDynamics] = MLPDynamics, features: int = 3, context: int = 0) -> MLPDynamics:
    return randomize(kind(features, 8, context), scale=1.0).double()


@pytest.mark.parametrize("settings", [{"solver": "rk4", "steps": 40}, {"solver": "dopri5", "rtol": 1e-9, "atol": 1e-9}])
def test_linear_dynamics_are_exact(settings):
    matrix, time = 0.5 * torch.randn(4, 4).double(), 1.5
    flow = FFJORD(LinearDynamics(matrix), time=time, trace="exact", **settings)
    x = torch.randn(5, 4).double()
    z, ladj = flow(x)
    torch.testing.assert_close(ladj, (time * matrix.trace()).expand(5), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(z, x @ torch.linalg.matrix_exp(time * matrix).T, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(flow.inverse(z)[0], x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("context_features", [0, 3])
def test_closed_form_divergence_is_that_of_autograd(context_features):
    field = dynamics(features=5, context=context_features)
    x, t = torch.randn(6, 5).double(), torch.tensor(0.3).double()
    context = torch.randn(6, context_features).double() if context_features else None
    velocity, divergence = field.with_divergence(context)(t, x)
    assert torch.equal(velocity, field(t, x, context))
    for row in range(6):
        given = None if context is None else context[row : row + 1]
        jacobian = torch.autograd.functional.jacobian(lambda r, c=given: field(t, r, c)[0], x[row : row + 1])
        torch.testing.assert_close(divergence[row], jacobian[:, 0].trace())
    assert divergence.abs().min() > 1e-3


def test_hutchinson_is_unbiased():
    exact = FFJORD(dynamics(), trace="exact")
    estimated = FFJORD(exact.dynamics, trace="hutchinson")
    x = torch.randn(1, 3).double()
    with torch.no_grad():
        expected = exact(x)[1]
        estimates = estimated(x.expand(4000, 3))[1]
    standard_error = estimates.std() / len(estimates) ** 0.5
    assert standard_error > 1e-5  # it is an estimate
    assert (estimates.mean() - expected).abs() < 4 * standard_error


def test_hutchinson_moves_x_as_the_exact_flow_does():
    exact = FFJORD(dynamics(), trace="exact")
    x = torch.randn(4, 3).double()
    torch.testing.assert_close(FFJORD(exact.dynamics, trace="hutchinson")(x)[0], exact(x)[0])


@pytest.mark.parametrize(("features", "exact"), [(8, True), (9, False)])
def test_auto_estimates_the_trace_in_many_dimensions_only(features, exact):
    flow = FFJORD(dynamics(OpenDynamics, features), steps=2)
    x = torch.randn(4, features).double()
    assert torch.equal(flow(x)[1], flow(x)[1]) == exact


def test_auto_prefers_the_closed_form():
    flow = FFJORD(dynamics(features=9), steps=2)
    x = torch.randn(4, 9).double()
    assert torch.equal(flow(x)[1], flow(x)[1])


@pytest.mark.parametrize("trace", ["exact", "hutchinson"])
@pytest.mark.parametrize("kind", [MLPDynamics, OpenDynamics])
def test_adjoint_gradient_is_the_direct_one(kind, trace):
    # A flow before and after, so that the adjoint's start requires a gradient too.
    direct = Chain(*(FFJORD(dynamics(kind), steps=16, trace=trace) for _ in range(2)))
    adjoint = Chain(*(FFJORD(layer.dynamics, steps=16, trace=trace, adjoint=True) for layer in direct.layers))
    x, gradients = torch.randn(4, 3).double(), []
    for flow in (direct, adjoint):
        torch.manual_seed(7)
        z, ladj = flow(x)
        gradients.append(torch.autograd.grad(z.square().sum() + ladj.sum(), list(direct.parameters())))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_unknown_solver_is_refused():
    with pytest.raises(ValueError, match=r"dopri5.*'rk5'"):
        FFJORD(MLPDynamics(2, 4), solver="rk5")


def test_adjoint_refuses_a_context_that_wants_a_gradient():
    flow = FFJORD(MLPDynamics(2, 4, context_features=2), adjoint=True)
    with pytest.raises(ValueError, match="adjoint=False"):
        flow(torch.randn(3, 2), torch.randn(3, 2, requires_grad=True))


def test_context_gets_a_gradient_without_the_adjoint():
    flow = FFJORD(dynamics(context=2))
    context = torch.randn(4, 2).double().requires_grad_()
    flow(torch.randn(4, 3).double(), context)[1].sum().backward()
    assert (context.grad != 0).all()


def test_rows_that_no_step_is_small_enough_for_are_refused():
    flow = FFJORD(MLPDynamics(2, 4), solver="dopri5").eval()
    with pytest.raises(UserError, match="dopri5 cannot solve the flow's ODE"):
        flow(torch.tensor([[float("inf"), 0.0]]))


def test_a_fresh_flow_is_the_identity():
    x = torch.randn(4, 3)
    z, ladj = FFJORD(MLPDynamics(3, 8))(x)
    assert torch.equal(z, x)
    assert torch.equal(ladj, torch.zeros(4))
