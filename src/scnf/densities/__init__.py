"""Class-conditional densities p(z | y), all behind one interface."""

from scnf.densities.autoregressive import Autoregressive
from scnf.densities.base import ClassConditional
from scnf.densities.conditional_flow import ConditionalFlow
from scnf.densities.fixed_gaussians import FixedGaussians
from scnf.densities.flow_per_class import FlowPerClass
from scnf.densities.gaussian import GaussianPerClass
from scnf.densities.normal import DiagonalNormal, standard_normal_log_prob

__all__ = [
    "Autoregressive",
    "ClassConditional",
    "ConditionalFlow",
    "DiagonalNormal",
    "FixedGaussians",
    "FlowPerClass",
    "GaussianPerClass",
    "standard_normal_log_prob",
]
