"""What a class-conditional density is."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class ClassConditional(nn.Module, ABC):
    """A density p(z | y) over vectors for each of K classes, as the change of variables z_h = h(z; y).

    Shapes: z and z_h are ``[B, features]``, y is ``[B]`` with values 0 … K−1.
    """

    def __init__(self, features: int, classes: int):
        super().__init__()
        self.features = features
        self.classes = classes

    @abstractmethod
    def log_prob(self, z: Tensor, y: Tensor) -> Tensor:
        """Return log p(z | y): ``[B]``."""

    @abstractmethod
    def log_prob_all(self, z: Tensor) -> Tensor:
        """Return log p(z | k) for every class k: ``[B, K]``."""

    def log_prob_known(self, z: Tensor, known: Tensor) -> Tensor:
        """Return ``log_prob_all(z)`` where the first rows have ``known`` labels, whose value stands for all classes."""
        own = self.log_prob(z[: len(known)], known)[:, None].expand(-1, self.classes)
        return own if len(known) == len(z) else torch.cat([own, self.log_prob_all(z[len(known) :])])

    @abstractmethod
    def encode(self, z: Tensor, y: Tensor) -> Tensor:
        """Return z_h = h(z; y), which no longer tells y: ``[B, features]``."""

    @abstractmethod
    def decode(self, z_h: Tensor, y: Tensor) -> Tensor:
        """Undo ``encode``."""

    @abstractmethod
    def sample_base(self, n: int, temperature: float = 1.0) -> Tensor:
        """Draw n values of z_h from the base density, its standard deviation multiplied by ``temperature``."""

    def sample(self, y: Tensor, temperature: float = 1.0) -> Tensor:
        """Draw one z for each label."""
        return self.decode(self.sample_base(len(y), temperature), y)

    @torch.no_grad()
    def initialize(self, z: Tensor, y: Tensor, belongs: Tensor | None = None) -> None:
        """Set data-dependent parameters from a first batch; y is -1 where the label is hidden.

        ``belongs`` ``[B, K]``, where it is given, is a first guess of how much each row is of each class.
        """
