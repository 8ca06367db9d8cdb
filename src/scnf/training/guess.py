"""A first guess of the classes of rows without a label, from which EM finds the Gaussians that a model starts with."""

import warnings
from typing import Literal

import numpy as np
import torch
from torch import Tensor

_NEIGHBORS = 7


def first_guess(start: Literal["labels", "em", "graph"], x: Tensor, y: Tensor, classes: int) -> Tensor | None:
    """Return how much each row ``[N, ...]`` is taken to be of each class, ``[N, K]``, or None for no guess.

    ``em`` guesses nothing of the rows without a label: EM begins at the labelled ones. ``graph`` spreads the labels
    along the graph of nearest neighbours (Zhou et al., Learning with Local and Global Consistency, 2004).
    """
    if start == "labels" or not bool((y >= 0).any()):
        return None
    guess = torch.zeros(len(y), classes)
    if start == "graph" and len(y) > _NEIGHBORS and bool((y < 0).any()):
        guess[:, y[y >= 0].unique()] = torch.from_numpy(_spread(x.flatten(1).double().numpy(), y.numpy())).to(guess)
    return guess


def _spread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the label distributions of all rows over the classes that have a label."""
    from sklearn.semi_supervised import LabelSpreading  # noqa: PLC0415 (takes a second, and few recipes need it)

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        # Rows that no label reaches, and graphs that have not come to rest: a guess need not be perfect.
        warnings.simplefilter("ignore")
        spread = LabelSpreading(kernel="knn", n_neighbors=_NEIGHBORS).fit(x, y).label_distributions_
    return np.nan_to_num(spread, nan=0.0)
