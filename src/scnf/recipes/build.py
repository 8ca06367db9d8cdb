"""From a recipe to a model."""

import math

import torch
from torch import Tensor

from scnf.bijections import Chain
from scnf.bijections.base import Shape
from scnf.densities import ClassConditional, ConditionalFlow, GaussianPerClass
from scnf.model import SemiConditionalFlow
from scnf.recipes.images import image_features, image_flow
from scnf.recipes.schema import CouplingSpec, FFJORDSpec, GaussianSpec, ModelSpec, MultiscaleSpec
from scnf.recipes.vectors import vector_flow, vector_steps


def build_model(
    spec: ModelSpec, shape: Shape, classes: int, labelled_counts: Tensor | None = None
) -> SemiConditionalFlow:
    """Build an untrained model for data of one shape; ``labelled_counts`` ``[K]`` serve a "labelled" prior."""
    if isinstance(spec.f, MultiscaleSpec):
        flow, features = image_flow(spec, spec.f, shape), image_features(spec.f, shape)
    else:
        flow, features = vector_flow(spec, spec.f, shape), spec.z_f or math.prod(shape)
    conditional = _conditional(spec.h, features, classes)
    return SemiConditionalFlow(flow, conditional, shape, _label_prior(spec, classes, labelled_counts))


def _label_prior(spec: ModelSpec, classes: int, labelled_counts: Tensor | None) -> Tensor | None:
    if spec.label_prior == "uniform":
        return None
    if spec.label_prior == "labelled":
        if labelled_counts is None:
            raise ValueError("label_prior = 'labelled' needs labelled rows")
        # A class without a label counts as if it had one: log p(y) = -inf would rule it out for ever.
        return labelled_counts.to(torch.get_default_dtype()).clamp(min=1)
    return torch.tensor(spec.label_prior)


def _conditional(spec: CouplingSpec | FFJORDSpec | GaussianSpec, features: int, classes: int) -> ClassConditional:
    if isinstance(spec, GaussianSpec):
        return GaussianPerClass(features, classes, spec.covariance)
    return ConditionalFlow(Chain(*vector_steps(spec, features, classes)), features, classes)
