"""The semi-conditional normalizing flow."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from scnf.bijections import Bijection
from scnf.bijections.base import Shape
from scnf.densities import ClassConditional, standard_normal_log_prob


class Latents(NamedTuple):
    """What f makes of x: z_f ``[B, d]``, z_aux ``[B, D − d]`` and log|det ∂f/∂x| ``[B]``."""

    z_f: Tensor
    z_aux: Tensor
    ladj: Tensor


class SemiConditionalFlow(nn.Module):
    """An exact joint density of data and labels from a large flow f and a small class-conditional density.

    log p(x, y) = log|det ∂f/∂x| + log N(z_aux | 0, I) + log p(z_f | y) + log p(y), where (z_aux, z_f) = f(x).
    f does not see y, so ``log_joint`` for all K classes costs one pass of f.

    Args:
        flow: f, from ``[B, *shape]`` to latents ordered [z_aux | z_f].
        conditional: p(z_f | y) over the last ``conditional.features`` components of f's latents.
        shape: the shape of one x.
        label_prior: p(y) ``[K]``; uniform if None.

    Reference: Atanov et al., Semi-Conditional Normalizing Flows (2019), equations 3 and 4.

    Example:
        >>> import torch
        >>> from scnf import SemiConditionalFlow
        >>> from scnf.bijections import ActNorm
        >>> from scnf.densities import GaussianPerClass
        >>> model = SemiConditionalFlow(ActNorm(2), GaussianPerClass(features=2, classes=3), shape=(2,))
        >>> x = torch.randn(5, 2)
        >>> tuple(model.log_joint(x).shape), tuple(model.log_prob(x).shape)
        ((5, 3), (5,))
    """

    log_label_prior: Tensor

    def __init__(self, flow: Bijection, conditional: ClassConditional, shape: Shape, label_prior: Tensor | None = None):
        super().__init__()
        self.flow = flow
        self.conditional = conditional
        self.shape = tuple(shape)
        self.dimensions = math.prod(shape)
        self.latent_shape = flow.forward_shape(self.shape)
        self.classes = conditional.classes
        if not 0 < conditional.features <= self.dimensions:
            raise ValueError(f"z_f must have between 1 and {self.dimensions} components, got {conditional.features}")
        prior = torch.ones(self.classes) if label_prior is None else torch.as_tensor(label_prior)
        if prior.shape != (self.classes,) or not bool(((prior > 0) & prior.isfinite()).all()):
            raise ValueError(f"label_prior must hold {self.classes} positive numbers, got {prior.tolist()}")
        self.register_buffer("log_label_prior", (prior / prior.sum()).log().to(torch.get_default_dtype()))

    def forward(self, x: Tensor, known: Tensor | None = None) -> Tensor:
        """Return ``log_joint(x)``, where the first rows may have ``known`` labels.

        Those rows have the value of their own class in the place of all: the likelihood asks for no other.
        """
        latents = self.encode(x)
        if known is None:
            return self.log_joint_of_latents(latents)
        prior = self.log_label_prior
        priors = torch.cat([prior[known][:, None].expand(-1, self.classes), prior.expand(len(x) - len(known), -1)])
        return self.only_shared(latents).ladj[:, None] + self.conditional.log_prob_known(latents.z_f, known) + priors

    def encode(self, x: Tensor) -> Latents:
        """Return the latents of x, one pass of f."""
        z, ladj = self.flow(x)
        z_aux, z_f = z.flatten(1).split(self._sizes(), dim=1)
        return Latents(z_f, z_aux, ladj)

    def decode(self, z_f: Tensor, z_aux: Tensor) -> Tensor:
        """Return x = f⁻¹(z_f, z_aux)."""
        return self.flow.inverse(torch.cat([z_aux, z_f], dim=1).unflatten(1, self.latent_shape))[0]

    def log_joint(self, x: Tensor) -> Tensor:
        """Return log p(x, y=k) for every class k: ``[B, K]``."""
        return self.log_joint_of_latents(self.encode(x))

    def only_shared(self, latents: Latents) -> Latents:
        """Return latents without z_aux, whose log-density is added to ``ladj``: all that log p(x, y) needs of them."""
        return Latents(latents.z_f, latents.z_aux[:, :0], latents.ladj + standard_normal_log_prob(latents.z_aux))

    def log_joint_of_latents(self, latents: Latents, y: Tensor | None = None) -> Tensor:
        """Return log p(x, y=k) for every class k, ``[B, K]``, or for the labels given, ``[B]``."""
        shared = self.only_shared(latents).ladj
        if y is None:
            return shared[:, None] + self.log_joint_of_z_f(latents.z_f)
        return shared + self.conditional.log_prob(latents.z_f, y) + self.log_label_prior[y]

    def log_joint_of_z_f(self, z_f: Tensor) -> Tensor:
        """Return log p(z_f, y=k) for every class k, ``[B, K]``: all that tells the classes of x."""
        return self.conditional.log_prob_all(z_f) + self.log_label_prior

    def log_prob(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return log p(x), or log p(x | y) if labels are given: ``[B]``."""
        if y is None:
            return self.log_joint(x).logsumexp(1)
        return self.log_joint_of_latents(self.encode(x), y) - self.log_label_prior[y]

    def log_posterior(self, x: Tensor) -> Tensor:
        """Return log p(y=k | x) for every class k: ``[B, K]``."""
        return self.log_joint(x).log_softmax(1)

    @torch.no_grad()
    def sample(self, n: int, y: Tensor | int | None = None, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
        """Draw n rows and their labels; ``y`` fixes one label for all, or one for each row."""
        labels = self._labels(n, y)
        z_f = self.conditional.sample(labels, temperature)
        z_aux = torch.randn(n, self._sizes()[0], dtype=z_f.dtype, device=z_f.device) * temperature
        return self.decode(z_f, z_aux), labels

    def obfuscate(self, x: Tensor, y: Tensor) -> Tensor:
        """Return z_h = h(z_f; y): what x is apart from its label. ``[B, d]``."""
        return self.conditional.encode(self.encode(x).z_f, self._checked(y))

    def reveal(self, z_h: Tensor, y: Tensor, z_aux: Tensor | None = None) -> Tensor:
        """Return the x that has the given z_h and label; ``z_aux`` is zero if it was not kept."""
        z_f = self.conditional.decode(z_h, self._checked(y))
        if z_aux is None:
            z_aux = z_f.new_zeros(len(z_f), self._sizes()[0])
        return self.decode(z_f, z_aux)

    @torch.no_grad()
    def initialize(self, x: Tensor, y: Tensor, belongs: Tensor | None = None) -> None:
        """Set the data-dependent parameters of all layers from training rows; y is -1 where it is hidden.

        ``belongs`` ``[B, K]`` may guess how much each row is of each class.
        """
        z = self.flow.initialize(x).flatten(1)
        self.conditional.initialize(z[:, self._sizes()[0] :], y, belongs)

    def _sizes(self) -> list[int]:
        return [self.dimensions - self.conditional.features, self.conditional.features]

    def _labels(self, n: int, y: Tensor | int | None) -> Tensor:
        device = self.log_label_prior.device
        if y is None:
            return torch.multinomial(self.log_label_prior.exp(), n, replacement=True)
        labels = torch.full((n,), y, device=device) if isinstance(y, int) else y.to(device)
        if labels.shape != (n,):
            raise ValueError(f"y must hold one label for each of {n} rows, got shape {tuple(labels.shape)}")
        return self._checked(labels)

    def _checked(self, y: Tensor) -> Tensor:
        # A hidden label, -1, would index the last class without a word.
        if len(y) and not bool(((y >= 0) & (y < self.classes)).all()):
            raise ValueError(f"labels must lie between 0 and {self.classes - 1}, got {y.min()} to {y.max()}")
        return y
