"""Continuous flows: FFJORD, and with a context the paper's conditional FFJORD (Appendix C)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torchdiffeq import odeint, odeint_adjoint

from scnf.bijections.base import Bijection, in_blocks, over_blocks
from scnf.errors import UserError

Trace = Literal["auto", "exact", "hutchinson"]
Field = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
FIXED_STEP_SOLVERS = ("euler", "midpoint", "rk4")
ADAPTIVE_SOLVERS = ("dopri5", "bosh3", "dopri8")
# Above this many dimensions "auto" estimates the trace of a net that has no closed form.
_LARGEST_EXACT_TRACE = 8


class Dynamics(nn.Module, ABC):
    """The velocity field dx/dt = v(t, x; context) of a continuous flow; ``t`` is a scalar tensor."""

    @abstractmethod
    def forward(self, t: Tensor, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Return the velocity, of x's shape."""

    def with_divergence(self, context: Tensor | None = None) -> Field | None:
        """Return the field (t, x) → (velocity, divergence ``[B]``) in closed form, or None where there is none.

        A solver calls it many times with one context, so what does not depend on t and x is computed here, once.
        """
        return None


class MLPDynamics(Dynamics):
    """A tanh net with two hidden layers, time and context added to both: v = W₃ tanh(W₂ tanh(W₁ x + …) + …) + b₃.

    Its divergence needs no differentiation: with d = 1 − tanh² of the two layers and M = W₂ ∘ (W₁ W₃)ᵀ it is
    d₂ᵀ M d₁, exact in any dimension at the price of one more matrix product.
    """

    def __init__(self, features: int, hidden: int, context_features: int = 0):
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, features)
        # Time is one more input, and so is the context.
        self.extra = nn.Linear(1 + context_features, 2 * hidden, bias=False)
        self.context_features = context_features
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def _offsets(self, context: Tensor | None) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Return t → what is added to the two hidden layers: ``[K, hidden]`` each for K contexts, one row for none."""
        by_time, by_context = self.extra.weight.split([1, self.context_features], dim=1)
        constant = torch.cat([self.first.bias, self.second.bias])[None]
        if self.context_features:
            if context is None:
                raise ValueError("these dynamics were built with a context and are called without one")
            constant = constant + context @ by_context.T

        def offsets(t: Tensor) -> tuple[Tensor, Tensor]:
            first, second = (constant + t * by_time[:, 0]).chunk(2, dim=1)
            return first, second

        return offsets

    def forward(self, t: Tensor, x: Tensor, context: Tensor | None = None) -> Tensor:
        first_offset, second_offset = self._offsets(context)(t)
        first = torch.tanh(_add_to_blocks(F.linear(x, self.first.weight), first_offset))
        second = torch.tanh(_add_to_blocks(F.linear(first, self.second.weight), second_offset))
        return cast(Tensor, self.head(second))

    def with_divergence(self, context: Tensor | None = None) -> Field:
        offsets = self._offsets(context)
        product = self.second.weight * (self.first.weight @ self.head.weight).T
        weights = self.first.weight, self.second.weight, self.head.weight, self.head.bias, product

        def field(t: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            velocity, divergence = _TanhField.apply(x, *offsets(t), *weights)
            return velocity, divergence

        return field


def _add_to_blocks(x: Tensor, offset: Tensor) -> Tensor:
    """Add row k of ``[K, H]`` to the k-th of K equal blocks of rows of x ``[B, H]``."""
    if len(offset) == 1:
        return x + offset
    return (in_blocks(x, len(offset)) + over_blocks(offset, x)).flatten(0, 1)


class _TanhField(torch.autograd.Function):
    """Velocity and divergence of ``MLPDynamics``.

    The gradient is written out because a solve calls the field dozens of times on little data, where autograd's own
    would spend much of the time on small operations between the matrix products.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        offset1: Tensor,
        offset2: Tensor,
        weight1: Tensor,
        weight2: Tensor,
        weight3: Tensor,
        bias3: Tensor,
        product: Tensor,
    ) -> tuple[Tensor, Tensor]:
        # Not weight.T: a loop of torch.export takes no views of what lies outside of it.
        tanh1 = _add_to_blocks(F.linear(x, weight1), offset1).tanh_()
        tanh2 = _add_to_blocks(F.linear(tanh1, weight2), offset2).tanh_()
        one = x.new_ones(())
        slope1, slope2 = one.addcmul(tanh1, tanh1, value=-1), one.addcmul(tanh2, tanh2, value=-1)
        summed = slope2 @ product
        ctx.save_for_backward(x, weight1, weight2, weight3, product, tanh1, tanh2, slope1, slope2, summed)
        ctx.contexts = len(offset1)
        return F.linear(tanh2, weight3, bias3), (summed * slope1).sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_velocity: Tensor, by_divergence: Tensor) -> tuple[Tensor, ...]:
        x, weight1, weight2, weight3, product, tanh1, tanh2, slope1, slope2, summed = ctx.saved_tensors
        by_divergence = by_divergence[:, None]
        by_summed = slope1 * by_divergence
        # d slope / d tanh = −2 tanh and d tanh / d (its argument) = slope.
        by_layer2 = (by_summed @ product.T).mul_(tanh2).mul_(-2).addmm_(by_velocity, weight3).mul_(slope2)
        by_layer1 = (summed * tanh1).mul_(-2 * by_divergence).addmm_(by_layer2, weight2).mul_(slope1)
        return (
            by_layer1 @ weight1,
            in_blocks(by_layer1, ctx.contexts).sum(1),
            in_blocks(by_layer2, ctx.contexts).sum(1),
            by_layer1.T @ x,
            by_layer2.T @ tanh1,
            by_velocity.T @ tanh2,
            by_velocity.sum(0),
            slope2.T @ by_summed,
        )


class _System(nn.Module):
    """The augmented ODE of (x, ladj), stacked into one ``[B, D + 1]`` state for the solver."""

    def __init__(self, flow: "FFJORD", x: Tensor, context: Tensor | None):
        super().__init__()
        self.dynamics, self.context, self.shape = flow.dynamics, context, x.shape[1:]
        self.trace = flow.trace
        if self.trace == "auto":
            self.trace = "exact" if x[0].numel() <= _LARGEST_EXACT_TRACE else "hutchinson"
        closed_form = None if flow.trace == "hutchinson" else self.dynamics.with_divergence(context)
        self.field: Field = closed_form or self._differentiate
        # One noise for the whole solve: the ODE stays deterministic, as adaptive solvers need.
        self.noise = torch.empty_like(x).bernoulli_(0.5) * 2 - 1 if self.trace == "hutchinson" else None

    def forward(self, t: Tensor, state: Tensor) -> Tensor:
        x = state[:, :-1].unflatten(1, self.shape)
        velocity, divergence = self.field(t, x)
        return torch.cat([velocity.flatten(1), divergence[:, None]], dim=1)

    def _differentiate(self, t: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        wants_graph = torch.is_grad_enabled()
        with torch.enable_grad():
            # Without a graph x may still be a view of what requires a gradient (the adjoint's start): cut it off.
            x = x if wants_graph and x.requires_grad else x.detach().requires_grad_()
            velocity = self.dynamics(t, x, self.context)
            if self.noise is not None:
                (product,) = torch.autograd.grad(velocity, x, self.noise, create_graph=wants_graph)
                divergence = (product * self.noise).flatten(1).sum(1)
            else:
                flat = velocity.flatten(1)
                columns = []
                for i in range(flat.shape[1]):
                    (row,) = torch.autograd.grad(flat[:, i].sum(), x, create_graph=wants_graph, retain_graph=True)
                    columns.append(row.flatten(1)[:, i])
                divergence = torch.stack(columns, dim=1).sum(1)
        return (velocity, divergence) if wants_graph else (velocity.detach(), divergence.detach())


class FFJORD(Bijection):
    """z = x(T) of the ODE dx/dt = v(t, x; context) started at the data; ladj = ∫ tr(∂v/∂x) dt.

    Args:
        dynamics: the velocity field; given a context it makes the flow conditional.
        time: T, how long the ODE runs.
        solver: a fixed-step solver (``euler``, ``midpoint``, ``rk4``) that takes ``steps`` steps, or an adaptive one
            (``dopri5``, ``bosh3``, ``dopri8``) that keeps to ``rtol`` and ``atol``.
        eval_solver: the solver in evaluation mode, if it is to be another one. A coarse solver is enough to learn with,
            but training learns to please it: only a fine one tells the true density of what was learned.
        trace: ``exact``, ``hutchinson`` (one Rademacher probe a solve), or ``auto``: the closed form where the
            dynamics have one, else exact up to 8 dimensions and Hutchinson above.
        adjoint: constant memory by solving backwards for the gradient, instead of differentiating the solver.

    Any shape. Reference: Grathwohl et al., FFJORD (2018); Atanov et al., SCNF (2019), Appendix C.

    Example:
        >>> import torch
        >>> from scnf.bijections import FFJORD, MLPDynamics
        >>> flow = FFJORD(MLPDynamics(2, 16, context_features=3))
        >>> z, ladj = flow(torch.randn(5, 2), torch.eye(3)[[0, 1, 2, 0, 1]])
        >>> tuple(z.shape), tuple(ladj.shape)
        ((5, 2), (5,))
    """

    def __init__(
        self,
        dynamics: Dynamics,
        time: float = 1.0,
        solver: str = "rk4",
        steps: int = 8,
        rtol: float = 1e-5,
        atol: float = 1e-5,
        eval_solver: str | None = None,
        trace: Trace = "auto",
        adjoint: bool = False,
    ):
        super().__init__()
        for name in (solver, eval_solver or solver):
            if name not in (*FIXED_STEP_SOLVERS, *ADAPTIVE_SOLVERS):
                known = ", ".join((*FIXED_STEP_SOLVERS, *ADAPTIVE_SOLVERS))
                raise ValueError(f"solver must be one of {known}, got {name!r}")
        self.dynamics = dynamics
        self.time, self.solver, self.steps = time, solver, steps
        self.rtol, self.atol = rtol, atol
        self.eval_solver = eval_solver or solver
        self.trace: Trace = trace
        self.adjoint = adjoint

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._solve(x, context, 0.0, self.time)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._solve(z, context, self.time, 0.0)

    def _solve(self, x: Tensor, context: Tensor | None, start: float, end: float) -> tuple[Tensor, Tensor]:
        if self.adjoint and context is not None and context.requires_grad:
            raise ValueError("the adjoint carries no gradient to the context: use adjoint=False")
        state = torch.cat([x.flatten(1), x.new_zeros(x.shape[0], 1)], dim=1)
        times = torch.tensor([start, end], dtype=x.dtype, device=x.device)
        solver = self.solver if self.training else self.eval_solver
        options = {"step_size": self.time / self.steps} if solver in FIXED_STEP_SOLVERS else None
        settings = {"method": solver, "rtol": self.rtol, "atol": self.atol, "options": options}
        system = _System(self, x, context)
        try:
            if self.adjoint:
                settings["adjoint_params"] = tuple(self.dynamics.parameters())
                end_state = odeint_adjoint(system, state, times, **settings)[-1]
            else:
                end_state = odeint(system, state, times, **settings)[-1]
        except AssertionError as error:  # torchdiffeq's word for a step that shrank to nothing
            raise UserError(
                f"{solver} cannot solve the flow's ODE: some values are not finite or much too large; rows should lie "
                "in the range of the training data"
            ) from error
        return end_state[:, :-1].unflatten(1, x.shape[1:]), end_state[:, -1]
