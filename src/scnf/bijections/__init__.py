"""Invertible layers. One signature for all: ``forward(x, context=None) -> (z, ladj)`` and ``inverse``."""

from scnf.bijections.actnorm import ActNorm, ContextAffine, Standardize
from scnf.bijections.base import Bijection
from scnf.bijections.chain import Chain, Inverse
from scnf.bijections.context_linear import ContextLinear
from scnf.bijections.continuous import FFJORD, Dynamics, MLPDynamics
from scnf.bijections.coupling import AffineMap, Coupling, ElementwiseMap, SplineMap, TwoWayCoupling
from scnf.bijections.elementwise import BackgroundLogit, Logit
from scnf.bijections.linear import ChannelLinear, InvertibleLinear, LULinear, PrincipalComponents
from scnf.bijections.masks import ChannelMask, CheckerboardMask, Mask
from scnf.bijections.reshape import FactorOut, Flatten, Squeeze

__all__ = [
    "FFJORD",
    "ActNorm",
    "AffineMap",
    "BackgroundLogit",
    "Bijection",
    "Chain",
    "ChannelLinear",
    "ChannelMask",
    "CheckerboardMask",
    "ContextAffine",
    "ContextLinear",
    "Coupling",
    "Dynamics",
    "ElementwiseMap",
    "FactorOut",
    "Flatten",
    "Inverse",
    "InvertibleLinear",
    "LULinear",
    "Logit",
    "MLPDynamics",
    "Mask",
    "PrincipalComponents",
    "SplineMap",
    "Squeeze",
    "Standardize",
    "TwoWayCoupling",
]
