"""What a step of training minimises, from the log-joint of a batch."""

import math

from torch import Tensor

from scnf.recipes.schema import TrainingSpec
from scnf.training.losses import classification_loss, em_nll, log_responsibilities, marginal_nll


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


def wrongly_told(log_joint: Tensor, y: Tensor) -> Tensor:
    """Return which of the labelled rows have another most probable class, as a mask over them."""
    labelled = y >= 0
    return log_joint.detach()[labelled].argmax(1) != y[labelled]
