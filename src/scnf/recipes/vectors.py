"""Flows on vectors, from a recipe's f or h to layers."""

import math

from torch import nn

from scnf.bijections import (
    FFJORD,
    ActNorm,
    AffineMap,
    Bijection,
    Chain,
    ChannelMask,
    ContextAffine,
    ContextLinear,
    Coupling,
    ElementwiseMap,
    FactorOut,
    Flatten,
    MLPDynamics,
    PrincipalComponents,
    SplineMap,
    Standardize,
    TwoWayCoupling,
)
from scnf.bijections.base import Shape
from scnf.bijections.linear import make_linear
from scnf.nets import MLP, ResidualMLP
from scnf.recipes.schema import CouplingSpec, FFJORDSpec, IdentitySpec, ModelSpec

VectorSpec = CouplingSpec | FFJORDSpec | IdentitySpec


def vector_flow(spec: ModelSpec, f: VectorSpec, shape: Shape) -> Bijection:
    """Return f for rows of any shape, flattened and standardised first; z_f are its last components."""
    features = math.prod(shape)
    before: list[Bijection] = [] if len(shape) == 1 else [Flatten(shape)]
    before.append(PrincipalComponents(features) if spec.scaling == "principal" else Standardize(features))
    kept = spec.z_f or features
    if kept == features:
        return Chain(*before, *vector_steps(f, features))
    if isinstance(f, CouplingSpec) and not isinstance(f.steps, int):
        raise ValueError(f"with z_f set, model.f.steps must be one number, got {list(f.steps)}")
    # Half of the steps see all components, half only those that go on to h.
    steps = vector_steps(f, features)
    half = (len(steps) + 1) // 2
    inner = Chain(*vector_steps(f, kept)[half:])
    return Chain(*before, *steps[:half], FactorOut(inner, (features,), kept))


def vector_steps(spec: VectorSpec, features: int, context: int = 0) -> list[Bijection]:
    """Return the steps of a flow on vectors, which keep their shape."""
    if isinstance(spec, IdentitySpec):
        return []
    if isinstance(spec, FFJORDSpec):
        return [_ffjord(spec, features, context) for _ in range(spec.blocks)]
    counts = (spec.steps,) if isinstance(spec.steps, int) else spec.steps
    first = [ContextLinear(features, context)] if context and spec.class_linear else []
    return [*first, *_coupling_steps(spec, counts, features, context)]


def _ffjord(spec: FFJORDSpec, features: int, context: int) -> FFJORD:
    return FFJORD(
        MLPDynamics(features, spec.hidden, context),
        time=spec.time,
        solver=spec.solver,
        steps=spec.solver_steps,
        rtol=spec.rtol,
        atol=spec.atol,
        eval_solver=spec.eval_solver,
        trace=spec.trace,
        adjoint=spec.adjoint,
    )


def _coupling_steps(spec: CouplingSpec, counts: tuple[int, ...], features: int, context: int) -> list[Bijection]:
    steps: list[Bijection] = [_coupling_step(spec, features, context, flip=bool(i % 2)) for i in range(counts[0])]
    if len(counts) > 1:
        kept = features // 2
        inner = Chain(*_coupling_steps(spec, counts[1:], kept, context))
        steps.append(FactorOut(inner, (features,), kept))
    return steps


def _coupling_step(spec: CouplingSpec, features: int, context: int, flip: bool) -> Bijection:
    elementwise: ElementwiseMap = (
        SplineMap(spec.bins, spec.bound) if spec.map == "spline" else AffineMap(spec.scale, spec.bound)
    )

    def net(seen: int, moved: int) -> nn.Module:
        if spec.blocks:
            return ResidualMLP(seen, elementwise.size * moved, spec.hidden[0], spec.blocks, context)
        return MLP(seen, elementwise.size * moved, spec.hidden, context)

    coupling: Bijection
    if spec.halves == "both":
        first, second = ChannelMask(features).sizes
        coupling = TwoWayCoupling(features, net(first, second), net(second, first), elementwise)
    else:
        mask = ChannelMask(features, flip)
        coupling = Coupling(mask, net(mask.seen_channels, mask.moved_channels), elementwise)
    norm = ActNorm(features)
    linear = [] if spec.linear == "none" else [make_linear(spec.linear, features)]
    layers = [norm, *linear, coupling] if spec.order == "actnorm-first" else [*linear, coupling, norm]
    if context and spec.class_affine:
        layers.append(ContextAffine(features, context))
    return Chain(*layers)
