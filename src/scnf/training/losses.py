"""Objectives: pure functions of ``log_joint`` ``[B, K]`` and labels ``[B]`` (-1 where hidden), one value a row."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def _joint_of_label(log_joint: Tensor, y: Tensor) -> Tensor:
    return log_joint.gather(1, y.clamp(min=0)[:, None])[:, 0]


def with_clutter(log_prob: Tensor, log_clutter: float) -> Tensor:
    """Return log(p(x) + u) for clutter of density u, ``[B]``: rows that it tells better pull at p(x) but little."""
    return log_prob if log_clutter == -math.inf else torch.logaddexp(log_prob, log_prob.new_tensor(log_clutter))


def marginal_nll(log_joint: Tensor, y: Tensor, log_clutter: float = -math.inf) -> Tensor:
    """Return −log p(x, y) where the label is known and −log p(x) where it is hidden: equation 1 of the paper, ``[B]``.

    With a ``log_clutter`` it is −log(p(x) + u) where the label is hidden.

    Example:
        >>> import torch
        >>> log_joint = torch.tensor([[0.1, 0.3], [0.1, 0.3]]).log()
        >>> [round(v, 3) for v in marginal_nll(log_joint, torch.tensor([0, -1])).exp().tolist()]
        [10.0, 2.5]
    """
    hidden = with_clutter(log_joint.logsumexp(1), log_clutter)
    return -_joint_of_label(log_joint, y).where(y >= 0, hidden)


def log_responsibilities(log_joint: Tensor, log_clutter: float = -math.inf) -> Tensor:
    """Return the log of how much a row is of each class, ``[B, K]``: the posterior, or less where clutter has the
    rest.
    """
    return log_joint - with_clutter(log_joint.logsumexp(1), log_clutter)[:, None]


def em_nll(log_joint: Tensor, log_resp: Tensor, y: Tensor) -> Tensor:
    """Return the M-step's surrogate, −E_q[log p(x, y)] for hidden labels with q = exp(log_resp) held fixed, ``[B]``.

    With ``log_resp`` the current posterior its gradient equals that of ``marginal_nll`` (Fisher's identity).
    Reference: Atanov et al., SCNF (2019), Appendix B.
    """
    expected = (log_resp.detach().exp() * log_joint).sum(1)
    return -_joint_of_label(log_joint, y).where(y >= 0, expected)


def limited(nll: Tensor, most: float, scale: float) -> Tensor:
    """Return nll where it is at most ``most``; above, it grows ever less, to most + scale.

    One row that f throws far out would else drown all others, again and again: its gradient grows with the third power
    of z, where nll grows with the second.

    Example:
        >>> import torch
        >>> limited(torch.tensor([-3.0, 2.0, 5.0, 1001.0]), most=2.0, scale=1.0)
        tensor([-3.0000,  2.0000,  2.7500,  2.9990])
    """
    excess = (nll - most).clamp(min=0, max=1e30)  # of an infinite one, too
    return nll.clamp(max=most) + scale * excess / (scale + excess)


def drawn_classes(log_shares: Tensor, y: Tensor, uniform: Tensor) -> Tensor:
    """Return the known label of each row, or else a class drawn by its share, from uniform numbers ``[B, K]``."""
    ahead = -(-uniform.log()).log()  # Gumbel's: the largest sum is drawn by its share
    return torch.where(y >= 0, y, (log_shares + ahead).argmax(1))


def classification_loss(log_joint: Tensor, y: Tensor, temperature: float = 1.0) -> Tensor:
    """Return −log p(y | x) where the label is known and 0 where it is hidden, ``[B]``.

    The posterior is softmax(log_joint / temperature).
    """
    nll = F.cross_entropy(log_joint / temperature, y.clamp(min=0), reduction="none")
    return nll.where(y >= 0, nll.new_zeros(()))


def taught_nll(log_joint: Tensor, of_copies: Tensor, y: Tensor) -> Tensor:
    """Return −log p(x', ŷ) of altered copies x', where ŷ is the label or what the clean row is taken to be, ``[B]``.

    Reference: Izmailov et al., Semi-Supervised Learning with Normalizing Flows (2019), section 4.
    """
    return -_joint_of_label(of_copies, y.where(y >= 0, log_joint.detach().argmax(1)))


def consistency_loss(
    log_teacher: Tensor,
    of_copies: Tensor,
    y: Tensor,
    temperature: float = 1.0,
    confidence: float = 0.0,
    limit: float | None = None,
) -> Tensor:
    """Return the cross-entropy of an altered copy's posterior to what is said of the clean row, ``[B]``.

    softmax(log_teacher) teaches and is not taught: a known label stands in for it, and a row to which it gives no
    class at least ``confidence`` counts 0. The copies' posterior is softmax(of_copies / temperature), of their
    log_joint. A ``limit`` c makes it c · log(1 + entropy / c): the log-joint grows with the square of z, so one row
    that f throws far out would else drown all others.
    """
    teacher = log_teacher.detach().softmax(1)
    teacher = F.one_hot(y.clamp(min=0), teacher.shape[1]).to(teacher).where(y[:, None] >= 0, teacher)
    entropy = F.cross_entropy(of_copies / temperature, teacher, reduction="none")
    if limit is not None:
        entropy = limit * torch.log1p(entropy / limit)
    return entropy.where(teacher.amax(1) >= confidence, entropy.new_zeros(()))
