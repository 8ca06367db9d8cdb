import math

import numpy as np
import torch
from scipy.special import ndtri

from scnf.bijections import BackgroundLogit
from scnf.export.normal_quantile import normal_quantile


def test_it_is_right_to_the_last_bits():
    p = torch.cat([torch.linspace(1e-3, 1 - 1e-3, 20_001), torch.logspace(-10, -3, 1000)])
    right = ndtri(p.double().numpy())
    np.testing.assert_allclose(normal_quantile(p).double(), right, rtol=5e-7, atol=1e-9)
    # The log-derivative of Φ⁻¹ is z²/2 + log √2π.
    told = 0.5 * normal_quantile(p).square() + 0.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(told.double(), 0.5 * right**2 + 0.5 * math.log(2 * math.pi), rtol=1e-6)


def test_the_background_asks_for_nothing_that_it_does_not_know():
    lowest = BackgroundLogit._TAILS / 2
    p = torch.tensor([lowest, 0.5, 1 - lowest])
    np.testing.assert_allclose(normal_quantile(p), torch.special.ndtri(p), rtol=1e-6)
