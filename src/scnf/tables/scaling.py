"""Monotone maps of a column of numbers to about zero mean and unit variance, in float64 and in closed form."""

from typing import Literal

import numpy as np

from scnf.tables.schema import Scaling

_MIN_ROWS = 10  # fewer tell nothing about a shape
_MIN_GAIN = 0.05  # nats a row by which a normal distribution must fit better to bend a column
_NORMAL_IQR = 1.349  # quartile distance of a standard normal
_EXACT = 2**62  # differences of whole numbers up to here stay in int64
_MAX = float(np.finfo(np.float64).max)


def fit_scaling(values: np.ndarray, whole: bool) -> Scaling:
    """Return the map of at least two different values; whole ones are taken for the middle of their cell.

    The centre is the median and the spread follows the quartiles, so that a few wild values do not flatten the rest;
    the shape is the one under which a normal distribution fits best.
    """
    middle = np.sort(values)[len(values) // 2]
    center = int(middle) if whole else float(middle)
    offsets = _offsets(values, center) + (0.5 if whole else 0.0)
    low, high = np.quantile(offsets, [0.25, 0.75])
    spread = float((high - low) / _NORMAL_IQR) or _typical_distance(offsets)
    scaled = offsets / spread
    shape, power = _fit_shape(scaled)
    bent = _bend(scaled, shape, power)
    return Scaling(
        center=center, spread=spread, shape=shape, power=power, mean=float(bent.mean()), std=_std(bent) or 1.0
    )


def forward(scaling: Scaling, values: np.ndarray, noise: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return z of ``values + noise`` and log dz/dx, both ``[N]`` in float64."""
    with np.errstate(over="ignore"):
        scaled = (_offsets(values, scaling.center) + noise) / scaling.spread
        z = (_bend(scaled, scaling.shape, scaling.power) - scaling.mean) / scaling.std
        slope = _log_slope(scaled, scaling.shape, scaling.power)
    return z, slope - np.log(scaling.spread) - np.log(scaling.std)


def inverse(scaling: Scaling, z: np.ndarray) -> np.ndarray:
    """Return x − center in float64: the centre is added by who knows whether it is a whole number."""
    with np.errstate(over="ignore"):
        scaled = _unbend(z.astype(np.float64) * scaling.std + scaling.mean, scaling.shape, scaling.power)
        return np.clip(scaled * scaling.spread, -_MAX / 4, _MAX / 4)


def _offsets(values: np.ndarray, center: int | float) -> np.ndarray:
    """Return values − center, exactly for whole numbers: float64 has no room for 10¹⁸ + 1."""
    if values.dtype == np.int64 and abs(center) < _EXACT and ((values > -_EXACT) & (values < _EXACT)).all():
        return (values - center).astype(np.float64)
    return values.astype(np.float64) - float(center)


def _typical_distance(offsets: np.ndarray) -> float:
    """Return how far values lie from the centre that more than half of them share."""
    distances = np.abs(offsets - np.sort(offsets)[len(offsets) // 2])
    return float(np.median(distances[distances > 0]))


def _std(values: np.ndarray) -> float:
    largest = float(np.abs(values).max()) or 1.0  # squares of large values would overflow
    return float((values / largest).std()) * largest


def _fit_shape(scaled: np.ndarray) -> tuple[Literal["linear", "asinh", "yeo-johnson"], float]:
    """Return the shape under which a normal distribution gives the values the highest likelihood."""
    if len(scaled) < _MIN_ROWS:
        return "linear", 1.0
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 (slow to import, needed once)

    def loss(power: float) -> float:
        return -_normal_fit(scaled, "yeo-johnson", power)

    found = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-3})
    power, linear = float(found.x), _normal_fit(scaled, "linear", 1.0)
    yeo_johnson, asinh = -float(found.fun) - linear, _normal_fit(scaled, "asinh", 1.0) - linear
    if max(yeo_johnson, asinh) < _MIN_GAIN:
        return "linear", 1.0
    return ("yeo-johnson", power) if yeo_johnson >= asinh else ("asinh", 1.0)


def _normal_fit(scaled: np.ndarray, shape: str, power: float) -> float:
    """Return the mean log-likelihood of values whose image is normal, up to a constant: −log std + log slope."""
    std = _std(_bend(scaled, shape, power))
    return float(_log_slope(scaled, shape, power).mean()) - float(np.log(std if std > 0 else np.inf))


def _bend(t: np.ndarray, shape: str, power: float) -> np.ndarray:
    if shape == "linear":
        return t
    if shape == "asinh":
        return np.arcsinh(t)
    from scipy.special import boxcox1p  # noqa: PLC0415

    # ((1 + |t|)^p − 1)/p with p = λ right of zero and 2 − λ left of it, log(1 + |t|) where p = 0.
    bent: np.ndarray = np.sign(t) * boxcox1p(np.abs(t), np.where(t >= 0, power, 2 - power))
    return bent


def _unbend(bent: np.ndarray, shape: str, power: float) -> np.ndarray:
    if shape == "linear":
        return bent
    if shape == "asinh":
        return np.sinh(bent)
    from scipy.special import inv_boxcox1p  # noqa: PLC0415

    t: np.ndarray = np.sign(bent) * inv_boxcox1p(np.abs(bent), np.where(bent >= 0, power, 2 - power))
    return t


def _log_slope(t: np.ndarray, shape: str, power: float) -> np.ndarray:
    if shape == "linear":
        return np.zeros_like(t)
    if shape == "asinh":
        return -np.log(np.hypot(1.0, t))
    return (np.where(t >= 0, power, 2 - power) - 1) * np.log1p(np.abs(t))
