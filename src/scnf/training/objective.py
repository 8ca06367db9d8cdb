"""What a step of training minimises, from the log-joint of a batch."""

import math

import torch
from torch import Tensor

from scnf.recipes.schema import ConsistencySpec, TrainingSpec
from scnf.training.losses import (
    classification_loss,
    consistency_loss,
    em_nll,
    log_responsibilities,
    marginal_nll,
    taught_nll,
)


def training_objective(
    log_joint: Tensor,
    y: Tensor,
    weights: Tensor,
    spec: TrainingSpec,
    labelled: int | None = None,
    log_guess: Tensor | None = None,
    only_guess: bool = False,
    log_clutter: float = -math.inf,
) -> Tensor:
    """Return the scalar to minimise: the weighted likelihood objective and, if asked for, L_clf over labelled rows.

    ``labelled`` counts the labelled rows of the whole batch, where these are only a part of it. ``log_guess``
    ``[B, K]`` tells of rows without a label how likely each class is before they are looked at; ``only_guess`` lets it
    stand in for their posterior, too. ``log_clutter`` is that of ``marginal_nll``.
    """
    guessed = log_joint if log_guess is None else log_joint + log_guess.where(y[:, None] < 0, 0.0)
    if log_guess is not None and only_guess:
        nll = em_nll(log_joint, log_guess, y)
    elif spec.objective == "em":
        nll = em_nll(guessed, log_responsibilities(guessed, log_clutter), y)
    else:
        nll = marginal_nll(guessed, y, log_clutter)
    loss = (nll * weights).sum()
    if spec.clf_weight:
        count = int((y >= 0).sum()) if labelled is None else labelled
        clf = classification_loss(log_joint, y, spec.clf_temperature).sum() / max(count, 1)
        loss = loss + spec.clf_weight * clf
    return loss


def consistency_objective(
    log_joint: Tensor,
    of_copies: Tensor,
    y: Tensor,
    places: Tensor,
    log_guess: Tensor | None,
    only_guess: bool,
    spec: ConsistencySpec,
    counts: tuple[int, int],
) -> Tensor:
    """Return what altered copies, and with a guess the rows too, are yet to learn of the posterior of the clean rows.

    ``of_copies`` ``[C, K]`` is the log-joint of copies of the rows at ``places``; ``counts`` are those of rows and
    copies in the whole batch, of which these may be only a part.
    """
    # A density of many pixels is far too sure of itself to be heard beside a guess as it is.
    teacher, pupils, count = log_joint / spec.temperature, of_copies, counts[1]
    if log_guess is not None:
        teacher = log_guess if only_guess else teacher + log_guess
    if spec.loss == "likelihood":
        each = taught_nll(teacher[places], of_copies, y[places])
    else:
        if log_guess is not None:
            # What the graph says is news for the rows themselves, too.
            pupils, count = torch.cat([log_joint, of_copies]), sum(counts)
            places = torch.cat([torch.arange(len(y), device=places.device), places])
        each = consistency_loss(teacher[places], pupils, y[places], spec.temperature, spec.confidence, spec.limit)
    return each.sum() / count


def wrongly_told(log_joint: Tensor, y: Tensor) -> Tensor:
    """Return which of the labelled rows have another most probable class, as a mask over them."""
    labelled = y >= 0
    return log_joint.detach()[labelled].argmax(1) != y[labelled]
