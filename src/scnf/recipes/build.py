"""From a recipe to a model."""

import math

import torch
from torch import Tensor

from scnf.bijections import (
    FFJORD,
    ActNorm,
    AffineMap,
    Bijection,
    Chain,
    ChannelMask,
    ContextAffine,
    Coupling,
    ElementwiseMap,
    FactorOut,
    Flatten,
    Logit,
    MLPDynamics,
    PrincipalComponents,
    SplineMap,
    Squeeze,
    Standardize,
)
from scnf.bijections.base import Shape
from scnf.bijections.linear import make_linear
from scnf.densities import ClassConditional, ConditionalFlow, GaussianPerClass
from scnf.model import SemiConditionalFlow
from scnf.nets import MLP, ConvResNet
from scnf.recipes.schema import CouplingSpec, FFJORDSpec, GaussianSpec, ModelSpec, MultiscaleSpec


def build_model(
    spec: ModelSpec, shape: Shape, classes: int, labelled_counts: Tensor | None = None
) -> SemiConditionalFlow:
    """Build an untrained model for data of one shape; ``labelled_counts`` ``[K]`` serve a "labelled" prior."""
    flow = _image_flow(spec, spec.f, shape) if isinstance(spec.f, MultiscaleSpec) else _vector_flow(spec, shape)
    features = _image_features(spec.f, shape) if isinstance(spec.f, MultiscaleSpec) else spec.z_f or math.prod(shape)
    conditional = _conditional(spec.h, features, classes)
    return SemiConditionalFlow(flow, conditional, shape, _label_prior(spec, classes, labelled_counts))


def _label_prior(spec: ModelSpec, classes: int, labelled_counts: Tensor | None) -> Tensor | None:
    if spec.label_prior == "uniform":
        return None
    if spec.label_prior == "labelled":
        if labelled_counts is None:
            raise ValueError("label_prior = 'labelled' needs labelled rows")
        return labelled_counts.to(torch.get_default_dtype()) + 1  # a class that was not seen keeps a share
    return torch.tensor(spec.label_prior)


def _conditional(spec: CouplingSpec | FFJORDSpec | GaussianSpec, features: int, classes: int) -> ClassConditional:
    if isinstance(spec, GaussianSpec):
        return GaussianPerClass(features, classes, spec.covariance)
    return ConditionalFlow(Chain(*_vector_steps(spec, features, classes)), features, classes)


def _vector_flow(spec: ModelSpec, shape: Shape) -> Bijection:
    assert not isinstance(spec.f, MultiscaleSpec)
    features = math.prod(shape)
    before: list[Bijection] = [] if len(shape) == 1 else [Flatten(shape)]
    before.append(PrincipalComponents(features) if spec.scaling == "principal" else Standardize(features))
    kept = spec.z_f or features
    if kept == features:
        return Chain(*before, *_vector_steps(spec.f, features))
    # Half of the steps see all components, half only those that go on to h.
    steps = _vector_steps(spec.f, features)
    half = (len(steps) + 1) // 2
    inner = Chain(*_vector_steps(spec.f, kept)[half:])
    return Chain(*before, *steps[:half], FactorOut(inner, (features,), kept))


def _vector_steps(spec: CouplingSpec | FFJORDSpec, features: int, context: int = 0) -> list[Bijection]:
    if isinstance(spec, FFJORDSpec):
        return [
            FFJORD(
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
            for _ in range(spec.blocks)
        ]
    return [_vector_step(spec, features, context, flip=bool(i % 2)) for i in range(spec.steps)]


def _vector_step(spec: CouplingSpec, features: int, context: int, flip: bool) -> Bijection:
    mask = ChannelMask(features, flip)
    elementwise: ElementwiseMap = (
        SplineMap(spec.bins, spec.bound) if spec.map == "spline" else AffineMap(spec.scale, spec.bound)
    )
    net = MLP(mask.seen_channels, elementwise.size * mask.moved_channels, spec.hidden, context)
    layers = [ActNorm(features), make_linear(spec.linear, features), Coupling(mask, net, elementwise)]
    if context:
        layers.append(ContextAffine(features, context))
    return Chain(*layers)


def _image_features(spec: MultiscaleSpec, shape: Shape) -> int:
    halvings = 2 ** len(spec.keep)
    return spec.keep[-1] * (shape[1] // halvings) * (shape[2] // halvings)


def _image_flow(spec: ModelSpec, f: MultiscaleSpec, shape: Shape) -> Bijection:
    if len(shape) != 3:
        raise ValueError(f"a multiscale flow takes images [channels, height, width], got shape {shape}")
    if len(f.steps) != len(f.keep):
        raise ValueError(f"steps and keep must name the same number of levels, got {len(f.steps)} and {len(f.keep)}")
    return Chain(Logit(spec.logit_alpha), *_levels(f, shape, 0))


def _levels(spec: MultiscaleSpec, shape: Shape, level: int) -> list[Bijection]:
    if level == len(spec.steps):
        return [Flatten(shape)]
    squeeze = Squeeze(2)
    shape = squeeze.forward_shape(shape)
    steps = [_image_step(spec, shape[0], flip=bool(i % 2)) for i in range(spec.steps[level])]
    keep = spec.keep[level]
    if keep == shape[0]:
        return [squeeze, *steps, *_levels(spec, shape, level + 1)]
    inner = Chain(*_levels(spec, (keep, *shape[1:]), level + 1))
    return [squeeze, *steps, FactorOut(inner, shape, keep)]


def _image_step(spec: MultiscaleSpec, channels: int, flip: bool) -> Bijection:
    mask = ChannelMask(channels, flip)
    elementwise = AffineMap(spec.scale, spec.bound)
    net = ConvResNet(mask.seen_channels, elementwise.size * mask.moved_channels, spec.hidden, spec.blocks)
    return Chain(ActNorm(channels), make_linear(spec.linear, channels), Coupling(mask, net, elementwise))
