"""From a recipe to a model."""

import math

import torch
from torch import Tensor

from scnf.bijections import Chain
from scnf.bijections.base import Shape
from scnf.densities import (
    Autoregressive,
    ClassConditional,
    ConditionalFlow,
    FixedGaussians,
    FlowPerClass,
    GaussianPerClass,
)
from scnf.model import SemiConditionalFlow
from scnf.recipes.images import image_features, image_flow, image_steps
from scnf.recipes.schema import (
    AutoregressiveSpec,
    Conditional,
    FixedGaussiansSpec,
    FlowPerClassSpec,
    GaussianSpec,
    ModelSpec,
    MultiscaleSpec,
)
from scnf.recipes.vectors import vector_flow, vector_steps


def build_model(
    spec: ModelSpec, shape: Shape, classes: int, labelled_counts: Tensor | None = None
) -> SemiConditionalFlow:
    """Build an untrained model for data of one shape; ``labelled_counts`` ``[K]`` serve a "labelled" prior."""
    if isinstance(spec.f, MultiscaleSpec):
        flow = image_flow(spec, spec.f, shape)
    else:
        flow = vector_flow(spec, spec.f, shape)
    conditional = build_conditional(spec, shape, classes)
    return SemiConditionalFlow(flow, conditional, shape, _label_prior(spec, classes, labelled_counts))


def build_conditional(spec: ModelSpec, shape: Shape, classes: int) -> ClassConditional:
    """Build the untrained density of z_f alone."""
    if not isinstance(spec.f, MultiscaleSpec):
        features = spec.z_f or math.prod(shape)
    elif isinstance(spec.h, FixedGaussiansSpec):
        features = math.prod(shape)  # what a level factors out is of a class too
    else:
        features = image_features(spec.f, shape)
    return _conditional(spec.h, features, classes, shape)


def _label_prior(spec: ModelSpec, classes: int, labelled_counts: Tensor | None) -> Tensor | None:
    if spec.label_prior == "uniform":
        return None
    if spec.label_prior == "labelled":
        if labelled_counts is None:
            raise ValueError("label_prior = 'labelled' needs labelled rows")
        # A class without a label counts as if it had one: log p(y) = -inf would rule it out for ever.
        return labelled_counts.to(torch.get_default_dtype()).clamp(min=1)
    return torch.tensor(spec.label_prior)


def _conditional(spec: Conditional, features: int, classes: int, shape: Shape) -> ClassConditional:
    match spec:
        case GaussianSpec():
            return GaussianPerClass(features, classes, spec.covariance)
        case FixedGaussiansSpec():
            return FixedGaussians(features, classes, spec.distance)
        case AutoregressiveSpec():
            return Autoregressive(features, classes, spec.steps, spec.hidden, spec.map, spec.bins)
        case FlowPerClassSpec():
            return _flow_per_class(spec, features, classes, shape)
        case _:
            return ConditionalFlow(Chain(*vector_steps(spec, features, classes)), features, classes)


def _flow_per_class(spec: FlowPerClassSpec, features: int, classes: int, shape: Shape) -> FlowPerClass:
    flow = spec.flow
    if not isinstance(flow, MultiscaleSpec):
        return FlowPerClass([Chain(*vector_steps(flow, features)) for _ in range(classes)], (features,))
    if features != math.prod(shape):
        raise ValueError(f"a multiscale flow for each class takes whole images, but f keeps {features} values")
    return FlowPerClass([Chain(*image_steps(flow, shape)) for _ in range(classes)], shape)
