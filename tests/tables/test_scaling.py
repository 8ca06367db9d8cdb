import numpy as np
import pytest

from scnf.tables.cells import Cells, log_normal
from scnf.tables.scaling import fit_scaling, forward, inverse
from scnf.tables.schema import Scaling

_SHAPES = [("linear", 1.0), ("asinh", 1.0), *(("yeo-johnson", power) for power in (0.0, 0.3, 1.0, 1.7, 2.0))]


@pytest.mark.parametrize(("shape", "power"), _SHAPES)
def test_maps_are_inverse_monotone_and_their_slope_is_the_derivative(shape, power):
    scaling = Scaling(center=5.0, spread=3.0, shape=shape, power=power, mean=0.5, std=2.0)
    x = np.unique(np.concatenate([np.linspace(-200, 200, 401), 5 + np.array([-1e-6, 1e-6])]))
    z, log_slope = forward(scaling, x)
    assert (np.diff(z) > 0).all()
    np.testing.assert_allclose(inverse(scaling, z) + 5, x, rtol=1e-12, atol=1e-12)
    step = 1e-4
    numeric = (forward(scaling, x + step)[0] - forward(scaling, x - step)[0]) / (2 * step)
    np.testing.assert_allclose(log_slope, np.log(numeric), atol=1e-4)


@pytest.mark.parametrize(("shape", "power"), _SHAPES)
def test_every_latent_has_a_value(shape, power):
    scaling = Scaling(center=0.0, spread=1.0, shape=shape, power=power)
    assert np.isfinite(inverse(scaling, np.array([-1e30, -800, -5, 0, 5, 800, 1e30], dtype=np.float32))).all()


def test_yeo_johnson_is_the_one_of_scipy():
    from scipy.stats import yeojohnson, yeojohnson_normmax

    x = np.random.default_rng(0).gamma(2.0, size=500)
    scaling = fit_scaling(x, whole=False)
    assert scaling.shape == "yeo-johnson"
    scaled = (x - scaling.center) / scaling.spread
    assert scaling.power == pytest.approx(yeojohnson_normmax(scaled), abs=0.01)
    expected = (yeojohnson(scaled, scaling.power) - scaling.mean) / scaling.std
    np.testing.assert_allclose(forward(scaling, x)[0], expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("draw", "shape"),
    [
        (lambda rng: rng.normal(size=1000), "linear"),
        (lambda rng: rng.uniform(size=1000), "linear"),
        (lambda rng: np.concatenate([rng.normal(-5, 1, 500), rng.normal(5, 1, 500)]), "linear"),
        (lambda rng: rng.lognormal(0, 1, 1000), "yeo-johnson"),
        (lambda rng: -rng.lognormal(0, 1, 1000), "yeo-johnson"),
        (lambda rng: rng.standard_cauchy(1000), "asinh"),
        (lambda rng: rng.lognormal(0, 1, 9), "linear"),
    ],
)
def test_only_what_asks_for_it_is_bent(draw, shape):
    assert fit_scaling(draw(np.random.default_rng(0)), whole=False).shape == shape


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e290])
def test_units_do_not_matter(scale):
    x = np.random.default_rng(0).lognormal(0, 1, 200)
    z, slope = forward(fit_scaling(x, whole=False), x)
    scaled_z, scaled_slope = forward(fit_scaling(x * scale, whole=False), x * scale)
    np.testing.assert_allclose(scaled_z, z, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scaled_slope, slope - np.log(scale), rtol=1e-6, atol=1e-6)


def test_ends_of_int64():
    x = np.array([-(2**63), 2**63 - 1, 0, 5])
    z, slope = forward(fit_scaling(x, whole=False), x)
    assert (z[0] < z[2]) & (z[2] < z[1])
    assert np.isfinite(slope).all()


def test_cells():
    cells = Cells(np.array([70.0, 25, 4, 1]))
    codes, noise = np.repeat(np.arange(4), 200), np.tile(np.linspace(0.001, 0.999, 200), 4)
    z, log_slope = cells.forward(codes, noise)
    np.testing.assert_array_equal(cells.inverse(z), codes)
    assert (np.diff(z) > 0).all()
    step = 1e-5
    numeric = (cells.forward(codes, noise + step)[0] - cells.forward(codes, noise - step)[0]) / (2 * step)
    np.testing.assert_allclose(log_slope, np.log(numeric), atol=1e-3)
    np.testing.assert_allclose(np.exp(log_normal(z) + log_slope), np.repeat([0.7, 0.25, 0.04, 0.01], 200))
    assert np.isfinite(cells.forward(np.array([0, 3]), np.array([0.0, 1.0]))[0]).all()
