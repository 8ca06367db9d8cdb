"""Class-conditional densities p(z | y), all behind one interface."""

from scnf.densities.base import ClassConditional
from scnf.densities.conditional_flow import ConditionalFlow
from scnf.densities.gaussian import GaussianPerClass
from scnf.densities.normal import DiagonalNormal, standard_normal_log_prob

__all__ = ["ClassConditional", "ConditionalFlow", "DiagonalNormal", "GaussianPerClass", "standard_normal_log_prob"]
