"""M1, M2 and M1+M2 as classifiers: semi-supervised variational autoencoders."""

import math

import torch
from sklearn.svm import SVC
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.baselines.learning import Loss, learn
from scnf.baselines.vae import VAE, ConditionalVAE, NormalRows, Rows, m2_nll
from scnf.baselines.vae_base import SAMPLES, Sizes, VAESystem
from scnf.recipes.schema import TrainingSpec
from scnf.training import TrainingData

# The paper's α = 0.1 · N, beside an objective that is a sum over N rows; ours is a mean over rows.
_CLASSIFIER_WEIGHT = 0.1


class M1(VAESystem):
    """A variational autoencoder of all rows, and a support vector machine on the means of q(z | x) of labelled ones.

    The paper's machine is transductive, which scikit-learn has not; this one has the usual RBF kernel. Probabilities
    are the softmax of its decision function: one label of each class is enough, but they are not calibrated.

    Example:
        >>> from scnf import load_split
        >>> split = load_split("moons")
        >>> M1(steps=2, random_state=0).fit(split.x_train, split.y_train).predict_proba(split.x_test).shape
        (500, 2)
    """

    def _learn(self, rows: Rows, data: TrainingData, sizes: Sizes, seed: int) -> list[nn.Module]:
        self.vae_ = learned_vae(rows, data, sizes, self._training(sizes), seed)
        labelled = data.y >= 0
        with torch.no_grad():
            means = self.vae_.encode(rows.inputs(data.x[labelled])).mean
        self.classifier_ = SVC(C=10.0).fit(means.numpy(), data.y[labelled].numpy())
        return [self.vae_]

    def _proba(self, x: Tensor) -> Tensor:
        decision = torch.from_numpy(self.classifier_.decision_function(self.vae_.encode(x).mean.numpy()))
        if decision.dim() == 1:  # two classes have one number
            decision = torch.stack([-decision, decision], dim=1)
        return decision.softmax(1)

    def _log_weights(self, x: Tensor) -> Tensor:
        return self.vae_.log_weights(x, SAMPLES)


class M2(VAESystem):
    """The label is a latent variable beside z: q(y | x) classifies, trained by the bound and on the labelled rows.

    The objective is the paper's: L(x, y) of labelled rows, U(x) of the others, summed out over all labels, and
    0.1 · N times the classifier's cross-entropy on the labelled ones.

    Example:
        >>> from scnf import load_split
        >>> split = load_split("moons")
        >>> M2(steps=2, random_state=0).fit(split.x_train, split.y_train).score_samples(split.x_test).shape
        (500,)
    """

    def _learn(self, rows: Rows, data: TrainingData, sizes: Sizes, seed: int) -> list[nn.Module]:
        self.vae_ = ConditionalVAE(rows, math.prod(data.shape), data.classes, sizes.latent, sizes.hidden)
        learn(self.vae_, m2_loss(self.vae_), data, self._training(sizes), seed)
        return [self.vae_]

    def _proba(self, x: Tensor) -> Tensor:
        return self.vae_.log_posterior(x).exp()

    def _log_weights(self, x: Tensor) -> Tensor:
        return self.vae_.log_weights(x, SAMPLES)


class M1M2(VAESystem):
    """M1, and M2 on samples of its latents: p(x, y) = p(y) ∫∫ p(x | z₁) p(z₁ | y, z₂) p(z₂) dz₁ dz₂.

    M1 has half of the steps and of the time. Both keep their nets: the paper's way, layer by layer.

    Example:
        >>> from scnf import load_split
        >>> split = load_split("moons")
        >>> M1M2(steps=2, random_state=0).fit(split.x_train, split.y_train).score_samples(split.x_test).shape
        (500,)
    """

    def _learn(self, rows: Rows, data: TrainingData, sizes: Sizes, seed: int) -> list[nn.Module]:
        half = self._training(sizes, 0.5)
        self.vae_ = learned_vae(rows, data, sizes, half, seed)
        self.upper_ = ConditionalVAE(NormalRows(), sizes.latent, data.classes, sizes.latent, sizes.hidden)
        of_latents = m2_loss(self.upper_)

        def loss(x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
            with torch.no_grad():
                z = self.vae_.encode(rows.inputs(x)).sample()
            return of_latents(z, y, weights)

        learn(self.upper_, loss, data, half, seed + 1)
        return [self.vae_, self.upper_]

    def _proba(self, x: Tensor) -> Tensor:
        return self.upper_.log_posterior(self.vae_.encode(x).mean).exp()

    def _log_weights(self, x: Tensor) -> Tensor:
        q = self.vae_.encode(x)
        parts = []
        for _ in range(SAMPLES):
            z = q.sample()
            of_x = self.vae_.log_likelihood(x, z) - q.log_prob(z).sum(-1)
            parts.append(of_x[:, None] + self.upper_.log_weights(z, 1)[0])
        return torch.stack(parts)


def learned_vae(rows: Rows, data: TrainingData, sizes: Sizes, spec: TrainingSpec, seed: int) -> VAE:
    """Return a variational autoencoder that was trained on all rows."""
    vae = VAE(rows, math.prod(data.shape), sizes.latent, sizes.hidden)
    learn(vae, lambda x, y, weights: -(vae.elbo(rows.inputs(x)) * weights).sum(), data, spec, seed)
    return vae


def m2_loss(vae: ConditionalVAE) -> Loss:
    """Return the loss of M2: a mean over rows of L and U, and the classifier's cross-entropy on the labelled ones."""

    def loss(x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
        x = vae.rows.inputs(x)
        log_q = vae.log_posterior(x)
        labelled = y >= 0
        classifier = F.nll_loss(log_q[labelled], y[labelled])
        return (m2_nll(vae.bounds(x), log_q, y) * weights).sum() + _CLASSIFIER_WEIGHT * classifier

    return loss
