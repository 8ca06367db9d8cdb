"""What M1, M2 and M1+M2 share as classifiers: rows in, probabilities and a bound of log p(x) out."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from scnf.baselines.vae import CountRows, NormalRows, Rows
from scnf.errors import UserError
from scnf.estimator.inputs import Inputs
from scnf.estimator.labels import read_labels
from scnf.evaluation.metrics import rows_in_a_batch
from scnf.recipes.schema import TrainingSpec
from scnf.tables import TableEncoder
from scnf.training import TrainingData

# Samples of z for the bound that is reported.
SAMPLES = 16
# Pixels of up to so many levels are counts: those of scikit-learn's digits count dots in fields of 4×4.
_MOST_TRIALS = 16


class Sizes(NamedTuple):
    """Components of z, the widths of all nets, and the learning rate that these can take."""

    latent: int
    hidden: tuple[int, ...]
    rate: float


def sizes_for(values: int) -> Sizes:
    """Return what suits rows of so many values; the largest is about the paper's for MNIST."""
    if values <= 3:
        return Sizes(2, (64, 64), 3e-3)
    return Sizes(16, (128, 128), 3e-3) if values <= 256 else Sizes(50, (500, 500), 1e-3)


class VAESystem(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the three models share: rows in, probabilities and a bound of log p(x) out.

    X is a table or images, as for ``SCNFClassifier``. Columns of a table are normal given z, pixels binomial
    (``CountRows``).

    Args:
        latent: components of z; chosen by the number of columns or pixels if None.
        hidden: widths of all nets; chosen likewise if None.
        steps: of training, in all.
        max_seconds: time for the training, to which its schedule is fitted; as long as the steps take if None.
        random_state: fixes all that is drawn.
    """

    def __init__(
        self,
        *,
        latent: int | None = None,
        hidden: Sequence[int] | None = None,
        steps: int = 10_000,
        max_seconds: float | None = None,
        random_state: Any = None,
    ):
        self.latent = latent
        self.hidden = hidden
        self.steps = steps
        self.max_seconds = max_seconds
        self.random_state = random_state

    @abstractmethod
    def _learn(self, rows: Rows, data: TrainingData, sizes: Sizes, seed: int) -> list[nn.Module]:
        """Train on data and return what was trained."""

    @abstractmethod
    def _proba(self, x: Tensor) -> Tensor:
        """Return p(y | x) of rows as the nets take them, ``[B, K]``."""

    @abstractmethod
    def _log_weights(self, x: Tensor) -> Tensor:
        """Return log p(x, …) − log q(… | x) for samples of q, ``[S, B, …]``: the log of their mean bounds log p(x)."""

    def settings(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return all settings for rows of a shape, for a record."""
        sizes = self._sizes(math.prod(shape))
        return {
            "model": {"kind": type(self).__name__, "latent": sizes.latent, "hidden": list(sizes.hidden)},
            "training": self._training(sizes).model_dump(mode="json"),
        }

    def _sizes(self, values: int) -> Sizes:
        chosen = sizes_for(values)
        hidden = chosen.hidden if self.hidden is None else tuple(self.hidden)
        return Sizes(self.latent or chosen.latent, hidden, chosen.rate)

    def _training(self, sizes: Sizes, share: float = 1.0) -> TrainingSpec:
        """Return the training of a part that may take a share of all steps and of the time."""
        minutes = None if self.max_seconds is None else self.max_seconds * share / 60
        return TrainingSpec(
            steps=max(1, round(self.steps * share)),
            max_minutes=minutes,
            batch_size=128,
            labelled_share=0.25,
            learning_rate=sizes.rate,
            decay_start=0.5,
            clip=1e4,
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X and their labels y, -1 where there is none."""
        inputs = Inputs.learned_from(self, X, y)
        self.classes_, codes = read_labels(y, -1)
        assert inputs.rows is not None
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        levels = None if inputs.images is None else inputs.images.levels
        self._rows: Rows = NormalRows() if levels is None else CountRows(levels, _trials(levels))
        x = inputs.rows if levels is not None else inputs.rows.float()
        data = TrainingData(x, torch.from_numpy(codes), len(self.classes_))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            modules = self._learn(self._rows, data, self._sizes(math.prod(data.shape)), seed)
        self.n_parameters_ = sum(p.numel() for module in modules for p in module.parameters())
        self._inputs = inputs.without_rows()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    @torch.no_grad()
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the classifier's p(y | x), ``[n, K]``."""
        x, _ = self._read(X)
        return torch.cat([self._proba(part) for part in x.split(rows_in_a_batch(x.shape[1]))]).double().numpy()

    @torch.no_grad()
    def score_samples(self, X: Any) -> np.ndarray:
        """Return a lower bound of log p(x) in the data's own units, ``[n]``: importance-weighted, 16 samples.

        The samples are the same in every call. Reference: Burda et al., Importance Weighted Autoencoders (2015).
        """
        check_is_fitted(self)
        if isinstance(self._rows, CountRows) and self._rows.trials == 1:
            raise UserError(f"a Bernoulli decoder has no density of pixels with {self._rows.levels} levels")
        x, log_volume = self._read(X)
        parts = []
        with torch.random.fork_rng():
            torch.manual_seed(0)
            for part in x.split(rows_in_a_batch(x.shape[1])):
                weights = self._log_weights(part)
                parts.append(weights.transpose(0, 1).flatten(1).logsumexp(1) - math.log(len(weights)))
        return torch.cat(parts).double().numpy() + log_volume

    def _read(self, X: Any) -> tuple[Tensor, np.ndarray]:
        """Return rows as the nets take them, and what is to be added to their log-density, ``[n]``."""
        check_is_fitted(self)
        given = self._inputs.read(self, X)
        if self._inputs.table is None:
            return self._rows.inputs(torch.from_numpy(given)), np.zeros(len(given))
        z, log_volume = TableEncoder(self._inputs.table).encode_with_volume(given, seed=None)
        return self._rows.inputs(torch.from_numpy(z)), log_volume


def _trials(levels: int) -> int:
    return levels - 1 if levels - 1 <= _MOST_TRIALS else 1
