"""The models of Kingma et al., Semi-Supervised Learning with Deep Generative Models (2014), and their bounds."""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from scnf.nets import MLP

_LARGEST_LOG_SCALE = 4.0


def normal_of(outputs: Tensor) -> Normal:
    """Return the normal distribution that a net's outputs [mean | s] stand for, with log σ = 4·tanh(s/4)."""
    mean, s = outputs.chunk(2, dim=-1)
    log_scale = _LARGEST_LOG_SCALE * torch.tanh(s / _LARGEST_LOG_SCALE)
    return Normal(mean, log_scale.exp(), validate_args=False)


class Rows(Protocol):
    """What p(x | ·) is: ``outputs`` values of a net for each value of x, and the log-probability that they give."""

    outputs: int

    def inputs(self, x: Tensor) -> Tensor:
        """Return rows as the nets take them, ``[B, D]``."""
        ...

    def log_prob(self, x: Tensor, outputs: Tensor) -> Tensor:
        """Return log p(x | ·), ``[..., B, D]`` of x and ``[..., B, outputs · D]`` to ``[..., B]``."""
        ...


class NormalRows:
    """Real numbers: a normal distribution for each, its mean and scale by the net."""

    outputs = 2

    def inputs(self, x: Tensor) -> Tensor:
        return x.float()

    def log_prob(self, x: Tensor, outputs: Tensor) -> Tensor:
        return normal_of(outputs).log_prob(x).sum(-1)


class CountRows:
    """Grey pixels 0 … levels−1 as the number of successes in so many trials, binomial.

    With levels − 1 trials it is a probability of the pixels as they are. With one trial it is the paper's Bernoulli
    log-likelihood of shares of full light, which is no probability of grey pixels.
    """

    outputs = 1

    def __init__(self, levels: int, trials: int):
        self.levels, self.trials = levels, trials

    def inputs(self, x: Tensor) -> Tensor:
        return x.flatten(1).float() / (self.levels - 1)

    def log_prob(self, x: Tensor, outputs: Tensor) -> Tensor:
        each = x * F.logsigmoid(outputs) + (1 - x) * F.logsigmoid(-outputs)
        if self.trials == 1:
            return each.sum(-1)
        successes, trials = x * self.trials, torch.tensor(float(self.trials))
        ways = torch.lgamma(trials + 1) - torch.lgamma(successes + 1) - torch.lgamma(trials - successes + 1)
        return (self.trials * each + ways).sum(-1)


class VAE(nn.Module):
    """M1: p(x) = ∫ p(x | z) N(z | 0, I) dz and q(z | x), a variational autoencoder.

    Rows are those that ``rows.inputs`` returns, ``[B, D]``.
    """

    def __init__(self, rows: Rows, features: int, latent: int, hidden: Sequence[int]):
        super().__init__()
        self.rows = rows
        self.encoder = MLP(features, 2 * latent, hidden)
        self.decoder = MLP(latent, rows.outputs * features, hidden)

    def encode(self, x: Tensor) -> Normal:
        """Return q(z | x)."""
        return normal_of(self.encoder(x))

    def log_likelihood(self, x: Tensor, z: Tensor) -> Tensor:
        """Return log p(x | z) for z ``[..., B, latent]``."""
        return self.rows.log_prob(x, self.decoder(z))

    def elbo(self, x: Tensor) -> Tensor:
        """Return a sample of E_q[log p(x | z)] − KL(q(z | x) ‖ p(z)) ≤ log p(x), ``[B]``."""
        q = self.encode(x)
        return self.log_likelihood(x, q.rsample()) - kl_divergence(q, _standard(q)).sum(-1)

    def log_weights(self, x: Tensor, samples: int) -> Tensor:
        """Return log p(x, z) − log q(z | x) for samples of q, ``[S, B]``; the log of their mean is a closer bound."""
        q = self.encode(x)
        z = q.sample((samples,))
        return self.log_likelihood(x, z) + (_standard(q).log_prob(z) - q.log_prob(z)).sum(-1)


class ConditionalVAE(nn.Module):
    """M2: p(x, y) = p(y) ∫ p(x | y, z) N(z | 0, I) dz, with q(z | x, y) and the classifier q(y | x); p(y) is even."""

    def __init__(self, rows: Rows, features: int, classes: int, latent: int, hidden: Sequence[int]):
        super().__init__()
        self.rows, self.classes = rows, classes
        self.classifier = MLP(features, classes, hidden)
        self.encoder = MLP(features, 2 * latent, hidden, classes)
        self.decoder = MLP(latent, rows.outputs * features, hidden, classes)

    def log_posterior(self, x: Tensor) -> Tensor:
        """Return log q(y | x), ``[B, K]``."""
        return self.classifier(x).log_softmax(1)

    def _encode_all(self, x: Tensor) -> tuple[Normal, Tensor]:
        """Return q(z | x, k) for every k, a block of B rows each, and the labels of the blocks."""
        labels = torch.eye(self.classes, device=x.device)
        return normal_of(self.encoder(x, labels, every=True)), labels

    def _log_likelihood(self, x: Tensor, z: Tensor, labels: Tensor) -> Tensor:
        return self.rows.log_prob(x.repeat(self.classes, 1), self.decoder(z, labels))

    def bounds(self, x: Tensor) -> Tensor:
        """Return samples of −L(x, k) ≤ log p(x, y=k) for every class k: equation 6 of the paper, ``[B, K]``."""
        q, labels = self._encode_all(x)
        kl = kl_divergence(q, _standard(q)).sum(-1)
        bounds = self._log_likelihood(x, q.rsample(), labels) - kl - math.log(self.classes)
        return bounds.view(self.classes, len(x)).T

    def log_weights(self, x: Tensor, samples: int) -> Tensor:
        """Return log p(x, k, z) − log q(z | x, k) for samples of q and every class k, ``[S, B, K]``."""
        q, labels = self._encode_all(x)
        parts = []
        for _ in range(samples):
            z = q.sample()
            weights = self._log_likelihood(x, z, labels) + (_standard(q).log_prob(z) - q.log_prob(z)).sum(-1)
            parts.append(weights.view(self.classes, len(x)).T - math.log(self.classes))
        return torch.stack(parts)


def m2_nll(bounds: Tensor, log_q: Tensor, y: Tensor) -> Tensor:
    """Return L(x, y) where the label is known and U(x), equation 7 of the paper, where it is hidden, ``[B]``.

    U(x) = −Σ_k q(k | x) (−L(x, k)) − H(q(y | x)); ``bounds`` are −L(x, k) and ``log_q`` log q(k | x).

    Example:
        >>> import torch
        >>> bounds, log_q = torch.tensor([[-1.0, -3.0]]), torch.tensor([[0.5, 0.5]]).log()
        >>> round(m2_nll(bounds, log_q, torch.tensor([-1])).item(), 4)  # 2 − log 2
        1.3069
        >>> m2_nll(bounds, log_q, torch.tensor([1])).item()
        3.0
    """
    of_label = bounds.gather(1, y.clamp(min=0)[:, None])[:, 0]
    expected = (log_q.exp() * (bounds - log_q)).sum(1)
    return -of_label.where(y >= 0, expected)


def _standard(q: Normal) -> Normal:
    return Normal(torch.zeros_like(q.loc), torch.ones_like(q.loc), validate_args=False)
