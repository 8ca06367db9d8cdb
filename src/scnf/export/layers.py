"""Layers as a file can hold them: what is constant is computed beforehand, and an ODE has its steps fixed."""

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

from scnf.bijections import FFJORD
from scnf.bijections.base import Bijection, zero_ladj
from scnf.bijections.continuous import FIXED_STEP_SOLVERS
from scnf.bijections.linear import ChannelLinear
from scnf.errors import UserError

# torchdiffeq's solvers: for each stage of a step how far it goes along the slopes of those before, then for the step.
_SOLVERS: dict[str, tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]] = {
    "euler": (((),), (1.0,)),
    "midpoint": (((), (1 / 2,)), (0.0, 1.0)),
    "rk4": (((), (1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8)),
}


def has_adaptive_solver(layer: nn.Module) -> bool:
    """Tell whether a layer is an ODE whose steps are chosen while it is solved."""
    return isinstance(layer, FFJORD) and layer.eval_solver not in FIXED_STEP_SOLVERS


def fix_layers(module: nn.Module, ode_steps: int) -> None:
    """Put layers that a file can hold in the place of those that it cannot, all through a module."""
    for name, child in module.named_children():
        if isinstance(child, ChannelLinear):
            setattr(module, name, _FixedLinear(child))
        elif isinstance(child, FFJORD):
            setattr(module, name, _FixedSteps(child, ode_steps))
        else:
            fix_layers(child, ode_steps)


class _OneWay(Bijection):
    """A layer of an exported classifier, which has no use for the way back."""

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("an exported classifier goes one way")


class _FixedLinear(_OneWay, ChannelLinear):
    """A linear map whose determinant is known: a file need not compute it."""

    matrix: Tensor
    log_det: Tensor

    def __init__(self, layer: ChannelLinear):
        super().__init__()
        matrix, log_det = layer.matrix_and_log_det()
        self.register_buffer("matrix", matrix.detach().clone())
        self.register_buffer("log_det", log_det.detach().clone())

    def matrix_and_log_det(self) -> tuple[Tensor, Tensor]:
        return self.matrix, self.log_det


class _FixedSteps(_OneWay):
    """An ODE solved in steps that are known: its own, or so many of rk4 in the place of an adaptive solver."""

    def __init__(self, layer: FFJORD, steps: int):
        super().__init__()
        if layer.trace == "hutchinson":
            raise UserError(
                'a model with trace = "hutchinson" cannot be exported: it estimates log-densities with noise that is '
                'drawn in every pass; fit one with trace = "exact"'
            )
        self.dynamics, self.time = layer.dynamics, layer.time
        adaptive = has_adaptive_solver(layer)
        self.steps = steps if adaptive else layer.steps
        self.stages, self.weights = _SOLVERS["rk4" if adaptive else layer.eval_solver]

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        field = self.dynamics.with_divergence(context)
        if field is None:
            raise UserError("an FFJORD layer can be exported only if its dynamics tell their divergence in closed form")
        length = self.time / self.steps

        def step(state: tuple[Tensor, Tensor], start: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            x, ladj = state
            velocities: list[Tensor] = []
            divergences: list[Tensor] = []
            for shares in self.stages:
                velocity, divergence = field(start + sum(shares) * length, _moved(x, velocities, shares, length))
                velocities.append(velocity)
                divergences.append(divergence)
            end = (
                _moved(x, velocities, self.weights, length),
                _moved(ladj, divergences, self.weights, length),
            )
            return end, start.clone()

        # A copy: the state must lie in memory as a step leaves it.
        state = x.clone(memory_format=torch.contiguous_format), zero_ladj(x)
        starts = torch.arange(self.steps, dtype=x.dtype) * length
        if torch.compiler.is_exporting():
            state, _ = scan(step, state, starts)
        else:
            for start in starts:
                state, _ = step(state, start)
        return state


def _moved(x: Tensor, slopes: list[Tensor], shares: tuple[float, ...], length: float) -> Tensor:
    for slope, share in zip(slopes, shares, strict=True):
        if share:
            x = x + (share * length) * slope
    return x
