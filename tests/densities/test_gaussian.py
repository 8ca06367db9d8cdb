import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from scnf.bijections import Chain
from scnf.densities import GaussianPerClass
from scnf.model import SemiConditionalFlow

CLASSES, FEATURES = 3, 2


def gaussian(means: np.ndarray, covariances: np.ndarray, covariance: str) -> GaussianPerClass:
    """Return the density with the given parameters."""
    density = GaussianPerClass(FEATURES, CLASSES, covariance).double()
    factor = torch.linalg.inv(torch.linalg.cholesky(torch.tensor(covariances)))
    with torch.no_grad():
        density.mean.copy_(torch.tensor(means))
        density.log_precision.copy_(factor.diagonal(dim1=1, dim2=2).log())
        if density.lower is not None:
            density.lower.copy_(factor)
    return density


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(range(CLASSES), (40, 60, 100))
    mixing = rng.normal(size=(CLASSES, FEATURES, FEATURES))
    x = np.einsum("nij,nj->ni", mixing[y], rng.normal(size=(len(y), FEATURES))) + 2 * rng.normal(size=(3, 2))[y]
    return x, y


def covariances_of(x: np.ndarray, y: np.ndarray, covariance: str) -> np.ndarray:
    full = np.stack([np.cov(x[y == k].T) for k in range(CLASSES)])
    return full if covariance == "full" else full * np.eye(FEATURES)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_log_prob_is_scipys(rows, covariance):
    x, y = rows
    means, covariances = np.stack([x[y == k].mean(0) for k in range(CLASSES)]), covariances_of(x, y, covariance)
    density = gaussian(means, covariances, covariance)
    expected = [multivariate_normal(means[k], covariances[k]).logpdf(x) for k in range(CLASSES)]
    found = density.log_prob_all(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-10)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_posterior_with_the_identity_as_f_is_scikit_learns(rows, covariance):
    x, y = rows
    if covariance == "full":
        peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(x, y)
        density = gaussian(peer.means_, np.stack(peer.covariance_), covariance)
    else:
        peer = GaussianNB(var_smoothing=0.0).fit(x, y)
        density = gaussian(peer.theta_, peer.var_[:, :, None] * np.eye(FEATURES), covariance)
    prior = torch.tensor([40.0, 60.0, 100.0], dtype=torch.float64)
    model = SemiConditionalFlow(Chain(), density, (FEATURES,), prior).double()
    found = model.log_posterior(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, peer.predict_log_proba(x), rtol=1e-5, atol=1e-6)


def test_initialize_starts_at_the_means_of_the_labelled_rows():
    density = GaussianPerClass(2, 3)
    before = density.mean.detach().clone()
    z, y = torch.randn(6, 2), torch.tensor([0, 0, 1, -1, -1, 0])
    density.initialize(z, y)
    torch.testing.assert_close(density.mean[0], z[[0, 1, 5]].mean(0))
    torch.testing.assert_close(density.mean[1], z[2])
    assert torch.equal(density.mean[2], before[2])  # no labelled row: it stays where it was


def test_initialize_shrinks_the_spread_towards_that_of_all_rows():
    density = GaussianPerClass(1, 3)
    z, y = torch.tensor([[0.0], [2.0], [9.0], [5.0]]), torch.tensor([0, 0, 1, -1])
    density.initialize(z, y)
    within = (2 + z.var(correction=0).item()) / 4  # squares of three labelled rows and one row's worth of all
    expected = [(2 + within) / 3, within / 2, within]  # squares of the class and one row's worth of that
    assert density.log_precision.exp().pow(-2)[:, 0].tolist() == pytest.approx(expected, rel=1e-5)


def test_a_constant_component_stays_finite():
    density = GaussianPerClass(2, 2)
    density.initialize(torch.ones(4, 2), torch.tensor([0, 1, -1, -1]))
    assert torch.isfinite(density.log_prob_all(torch.ones(4, 2))).all()


def test_initialize_without_labels_changes_nothing():
    density = GaussianPerClass(2, 3)
    before = density.mean.detach().clone()
    density.initialize(torch.randn(4, 2), torch.full((4,), -1))
    assert torch.equal(density.mean, before)


def test_sampled_moments():
    covariance = np.array([[[2.0, 0.8], [0.8, 1.0]]] * CLASSES)
    density = gaussian(np.array([[1.0, -1.0]] * CLASSES), covariance, "full")
    with torch.no_grad():
        z = density.sample(torch.zeros(40_000, dtype=torch.long))
    torch.testing.assert_close(z.mean(0), torch.tensor([1.0, -1.0]).double(), atol=0.03, rtol=0)
    torch.testing.assert_close(z.T.cov(), torch.tensor(covariance[0]), atol=0.05, rtol=0)


def test_full_covariances_start_at_the_shrunk_ones_of_the_labelled_rows():
    generator = torch.Generator().manual_seed(0)
    z, y = torch.randn(40, 2, generator=generator, dtype=torch.float64), torch.arange(40) % 3 - 1
    density = GaussianPerClass(2, 2, "full").double()
    density.initialize(z, y)
    total = torch.diag(z.var(0, correction=0))
    scatters = [torch.cov(z[y == k].T, correction=0) * (y == k).sum() for k in (0, 1)]
    within = (sum(scatters) + 2 * total) / ((y >= 0).sum() + 2)
    for k in (0, 1):
        covariance = (scatters[k] + 2 * within) / ((y == k).sum() + 2)
        expected = torch.distributions.MultivariateNormal(z[y == k].mean(0), covariance).log_prob(z)
        torch.testing.assert_close(density.log_prob_all(z)[:, k], expected)


def test_a_shared_covariance_is_scikit_learns_linear_discriminant(rows):
    x, y = rows
    peer = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True, priors=[1 / 3] * 3).fit(x, y)
    density = GaussianPerClass(FEATURES, CLASSES, "shared").double()
    factor = torch.linalg.inv(torch.linalg.cholesky(torch.tensor(peer.covariance_)))
    with torch.no_grad():
        density.mean.copy_(torch.tensor(peer.means_))
        density.log_precision.copy_(factor.diagonal().log())
        density.lower.copy_(factor)
    posterior = density.log_prob_all(torch.tensor(x)).softmax(1).detach().numpy()
    np.testing.assert_allclose(posterior, peer.predict_proba(x), atol=1e-8)
    z_h = density.encode(torch.tensor(x), torch.tensor(y))
    torch.testing.assert_close(density.decode(z_h, torch.tensor(y)), torch.tensor(x))


def test_correlations_are_as_strong_as_the_rows_can_tell_them():
    """Two columns have one correlation: as if there were one row more, without any."""
    z = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [2.0, 1.0], [-2.0, -1.0]])
    density = GaussianPerClass(2, 1, "shared")
    density.initialize(z, torch.zeros(4, dtype=torch.long))
    scatter, variances = z.T @ z, torch.diag(z.var(0, correction=0))
    within = (scatter + 2 * variances) / 6
    expected = within * torch.tensor([[1.0, 4 / 5], [4 / 5, 1.0]])
    factor = torch.linalg.inv(density._factor()[0])
    torch.testing.assert_close(factor @ factor.T, expected)
