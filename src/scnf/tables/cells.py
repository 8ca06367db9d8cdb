"""Categories as a real number: each has a cell of the normal distribution that holds as much of it as its share."""

from functools import cached_property

import numpy as np

_EDGE = 1e-6  # noise stays away from the edges of a cell, which lie at infinity for the first and the last


class Cells:
    """Code c and noise u in (0, 1) become z = Φ⁻¹(p₀ + … + p₍c−1₎ + u·p_c), p the shares of the codes.

    For noise that is uniform, z is standard normal: what a flow is best at, with no boxes to learn. Density per cell:
    dz/du = p_c/φ(z), so that a standard normal model of z gives code c a mass of p_c exactly.

    Example:
        >>> import numpy as np
        >>> cells = Cells(np.array([0.5, 0.3, 0.2]))
        >>> z, log_slope = cells.forward(np.array([0, 1, 2]), np.full(3, 0.5))
        >>> cells.inverse(z).tolist()
        [0, 1, 2]
    """

    def __init__(self, shares: np.ndarray):
        self.shares = shares / shares.sum()
        self.starts = np.concatenate([[0.0], np.cumsum(self.shares)[:-1]])

    def forward(self, codes: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z and log dz/du of codes, ``[N]`` each."""
        from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

        z: np.ndarray = ndtri(self.starts[codes] + self.shares[codes] * np.clip(noise, _EDGE, 1 - _EDGE))
        return z, np.log(self.shares[codes]) - log_normal(z)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Return the code in whose cell z lies."""
        return np.searchsorted(self._edges, z.astype(np.float64), side="right")

    @cached_property
    def _edges(self) -> np.ndarray:
        from scipy.special import ndtri  # noqa: PLC0415

        edges: np.ndarray = ndtri(self.starts[1:])
        return edges


def log_normal(z: np.ndarray) -> np.ndarray:
    """Return the log-density of the standard normal distribution."""
    return -0.5 * np.square(z) - 0.5 * np.log(2 * np.pi)
