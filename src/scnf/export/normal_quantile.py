"""Φ⁻¹ in operations that ONNX has."""

import torch
from torch import Tensor

# Wichura's AS 241, PPND7: numerators and denominators by rising powers, for the middle and for the tails.
_MIDDLE = (
    (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
    (1.0, 17.895169469, 78.757757664, 67.187563600),
)
_TAIL = (
    (1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103),
    (1.0, 0.73700164250, 0.12021132975),
)


def normal_quantile(p: Tensor) -> Tensor:
    """Return Φ⁻¹(p) to the precision of 32 bits, for p from 1e-10 to 1 − 1e-10: ``BackgroundLogit`` stays within.

    Reference: Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution (1988).

    Example:
        >>> import torch
        >>> normal_quantile(torch.tensor([0.5, 0.975])).tolist()
        [0.0, 1.959964...]
    """
    from_middle = p - 0.5
    middle = from_middle * _ratio(_MIDDLE, 0.180625 - from_middle.square())
    tail = _ratio(_TAIL, (-torch.minimum(p, 1 - p).log()).sqrt() - 1.6)
    return torch.where(from_middle.abs() <= 0.425, middle, torch.where(from_middle < 0, -tail, tail))


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: Tensor) -> Tensor:
    numerator, denominator = (_polynomial(coefficients, x) for coefficients in polynomials)
    return numerator / denominator


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    *rest, highest = coefficients
    value = torch.full_like(x, highest)
    for coefficient in reversed(rest):
        value = value * x + coefficient
    return value
