"""A first guess of the classes of rows without a label, from which EM finds the Gaussians that a model starts with."""

from typing import Literal

import torch
from torch import Tensor

from scnf.data.augment import altered
from scnf.recipes.schema import TrainingSpec
from scnf.training.data import TrainingData
from scnf.training.graph import spread_labels

_COPIES = 3  # altered copies of each image, where a recipe says how images may be altered


def start_rows(data: TrainingData, spec: TrainingSpec) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return what ``SemiConditionalFlow.initialize`` is given: rows, labels and a guess of the classes, or None.

    EM on images sees altered copies of each beside it, which have its label and its guess: they fill the space between
    images that are few.
    """
    guess = first_guess(spec.start, data.x, data.y, data.classes)
    if guess is None or spec.consistency is None or not data.is_images:
        return data.continuous(), data.y, guess
    generator = torch.Generator().manual_seed(0)
    copies = [altered(data.x, spec.consistency.augment, generator) for _ in range(_COPIES)]
    more = TrainingData(torch.cat([data.x, *copies]), data.y.repeat(1 + _COPIES), data.classes, data.levels)
    return more.continuous(), more.y, guess.repeat(1 + _COPIES, 1)


def first_guess(start: Literal["labels", "em", "graph"], x: Tensor, y: Tensor, classes: int) -> Tensor | None:
    """Return how much each row ``[N, ...]`` is taken to be of each class, ``[N, K]``, or None for no guess.

    ``em`` guesses nothing of the rows without a label: EM begins at the labelled ones. ``graph`` spreads the labels
    along the graph of nearest neighbours.
    """
    if start == "labels" or not bool((y >= 0).any()):
        return None
    if start == "graph" and bool((y < 0).any()):
        return spread_labels(x, y, classes)
    return torch.zeros(len(y), classes)
