"""The bounds of Kingma's models, against answers that mathematics gives."""

import math

import pytest
import torch
from torch.distributions import Binomial, MultivariateNormal
from torch.nn import functional as F

from scnf.baselines.vae import VAE, ConditionalVAE, CountRows, NormalRows, m2_nll

FEATURES, CLASSES = 3, 4
SLOPES, OFFSET, SCALE = torch.tensor([[0.8], [-0.5], [1.2]]), torch.tensor([0.3, -1.0, 0.5]), 0.6


def s_of(scale: float) -> float:
    """Return the output s of a net that stands for a scale: log σ = 4·tanh(s/4)."""
    return 4 * math.atanh(math.log(scale) / 4)


@torch.no_grad()
def make_linear(model: VAE | ConditionalVAE) -> None:
    """Let p(x | z) = N(Wz + b, σ²) and q(z | x) be its exact posterior; without hidden layers no net sees the label."""
    precision = 1 + float(SLOPES.T @ SLOPES) / SCALE**2
    to_mean = SLOPES.T / (SCALE**2 * precision)
    decoder, encoder = model.decoder.head, model.encoder.head
    decoder.weight.zero_()[:FEATURES] = SLOPES
    decoder.bias[:FEATURES], decoder.bias[FEATURES:] = OFFSET, s_of(SCALE)
    encoder.weight.zero_()[:1] = to_mean
    encoder.bias[0], encoder.bias[1] = -(to_mean @ OFFSET)[0], s_of(precision**-0.5)


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randn(5, FEATURES)


@pytest.fixture
def exact(x) -> torch.Tensor:
    """log p(x) of the linear model: N(b, WWᵀ + σ²)."""
    covariance = SLOPES @ SLOPES.T + SCALE**2 * torch.eye(FEATURES)
    return MultivariateNormal(OFFSET, covariance).log_prob(x)


@torch.no_grad()
def test_with_the_exact_posterior_the_bound_of_m1_is_the_likelihood(x, exact):
    model = VAE(NormalRows(), FEATURES, 1, ())
    make_linear(model)
    # Every sample tells p(x) itself, and the bound is right on average.
    torch.testing.assert_close(model.log_weights(x, 7), exact.expand(7, -1), rtol=1e-4, atol=1e-4)
    means = torch.stack([model.elbo(x) for _ in range(2000)]).mean(0)
    torch.testing.assert_close(means, exact, rtol=0, atol=0.08)


@torch.no_grad()
def test_any_other_posterior_bounds_it_from_below(x, exact):
    model = VAE(NormalRows(), FEATURES, 1, ())
    make_linear(model)
    model.encoder.head.bias[0] += 0.4
    means = torch.stack([model.elbo(x) for _ in range(1000)]).mean(0)
    closer = model.log_weights(x, 20_000).logsumexp(0) - math.log(20_000)
    assert (means < exact - 0.1).all()
    torch.testing.assert_close(closer, exact, rtol=0, atol=0.05)


@torch.no_grad()
def test_with_the_exact_posterior_the_bounds_of_m2_are_the_likelihood(x, exact):
    model = ConditionalVAE(NormalRows(), FEATURES, CLASSES, 1, ())
    make_linear(model)
    of_class = (exact - math.log(CLASSES))[:, None].expand(-1, CLASSES)
    torch.testing.assert_close(model.log_weights(x, 2), of_class.expand(2, -1, -1), rtol=1e-4, atol=1e-4)
    means = torch.stack([model.bounds(x) for _ in range(1000)]).mean(0)
    torch.testing.assert_close(means, of_class, rtol=0, atol=0.12)


@torch.no_grad()
def test_every_label_has_its_own_bound(x):
    """The bound of a label in the batch of all labels is that of a pass with this label alone."""
    model = ConditionalVAE(NormalRows(), FEATURES, CLASSES, 2, (6,))
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    torch.manual_seed(0)
    noise = torch.randn(CLASSES * len(x), 2)
    torch.manual_seed(0)
    bounds = model.bounds(x)
    for k in range(CLASSES):
        label = torch.eye(CLASSES)[k].expand(len(x), -1)
        mean, s = model.encoder(x, label).chunk(2, dim=1)
        log_scale = 4 * torch.tanh(s / 4)
        z = mean + log_scale.exp() * noise[k * len(x) : (k + 1) * len(x)]
        kl = 0.5 * (mean**2 + (2 * log_scale).exp() - 1 - 2 * log_scale).sum(1)
        expected = NormalRows().log_prob(x, model.decoder(z, label)) - kl - math.log(CLASSES)
        torch.testing.assert_close(bounds[:, k], expected, rtol=1e-4, atol=1e-4)
    assert (bounds[:, 0] - bounds[:, 1]).abs().min() > 1e-3


def test_the_loss_of_m2_is_summed_out_over_hidden_labels():
    torch.manual_seed(1)
    bounds, log_q = torch.randn(6, CLASSES) - 3, torch.randn(6, CLASSES).log_softmax(1)
    y = torch.tensor([0, -1, 3, -1, -1, 2])
    losses = m2_nll(bounds, log_q, y)
    for i, label in enumerate(y.tolist()):
        q = log_q[i].exp()
        by_hand = sum(q[k] * (bounds[i, k] - log_q[i, k]) for k in range(CLASSES))
        torch.testing.assert_close(losses[i], -bounds[i, label] if label >= 0 else -by_hand)
    hidden = torch.full((6,), -1)
    best = m2_nll(bounds, bounds.log_softmax(1), hidden)
    torch.testing.assert_close(best, -bounds.logsumexp(1))
    assert (m2_nll(bounds, log_q, hidden) > best).all()


def test_pixels_are_binomial_or_as_in_the_paper_bernoulli():
    logits = torch.tensor([[0.3, -1.2]])
    counts = torch.cartesian_prod(torch.arange(17), torch.arange(17))
    rows = CountRows(17, 16)
    told = rows.log_prob(rows.inputs(counts), logits)
    torch.testing.assert_close(told, Binomial(16, logits=logits).log_prob(counts.float()).sum(1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(told.logsumexp(0), torch.tensor(0.0), rtol=0, atol=1e-4)
    paper, shares = CountRows(256, 1), torch.tensor([[0, 255], [51, 102]])
    expected = -F.binary_cross_entropy_with_logits(logits.expand(2, -1), shares / 255, reduction="none").sum(1)
    torch.testing.assert_close(paper.log_prob(paper.inputs(shares), logits), expected)
