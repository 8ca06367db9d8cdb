"""A first guess of the classes of rows without a label, from which EM finds the Gaussians that a model starts with."""

import warnings
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from scnf.data.augment import altered
from scnf.recipes.schema import TrainingSpec
from scnf.training.data import TrainingData

_NEIGHBORS = 7
_COPIES = 3  # altered copies of each image, where a recipe says how images may be altered


def start_rows(data: TrainingData, spec: TrainingSpec) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return what ``SemiConditionalFlow.initialize`` is given: rows, labels and a guess of the classes, or None.

    EM on images sees altered copies of each beside it, which have its label and its guess: they fill the space between
    images that are few.
    """
    if spec.start == "labels" or spec.consistency is None or not data.is_images:
        return data.continuous(), data.y, first_guess(spec.start, data.continuous(), data.y, data.classes)
    generator = torch.Generator().manual_seed(0)
    copies = [altered(data.x, spec.consistency.augment, generator) for _ in range(_COPIES)]
    more = TrainingData(torch.cat([data.x, *copies]), data.y.repeat(1 + _COPIES), data.classes, data.levels)
    x = more.continuous()
    guess = first_guess(spec.start, x, more.y, data.classes)
    if guess is not None:
        guess = guess.view(1 + _COPIES, len(data.y), -1).mean(0).repeat(1 + _COPIES, 1)
    return x, more.y, guess


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
