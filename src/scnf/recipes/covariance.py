"""Which covariance the Gaussians of few labels should have."""

import torch
from torch import Tensor

from scnf.densities import GaussianPerClass
from scnf.densities.gaussian import Covariance

_FOLDS = 5
_MOST_ROWS = 2000  # few labels tell no more with more rows
_ALIKE = 0.95  # of the rows must be of the same class by both


@torch.no_grad()
def choose_covariance(z: Tensor, y: Tensor, classes: int) -> Covariance:
    """Return ``diagonal`` or ``shared`` for components z ``[N, D]`` and labels y, -1 where hidden.

    A diagonal for each class often has the better likelihood, but may part rows by how far out they are instead of by
    class. One covariance for all is safe from that: so where EM with both parts the rows much alike, the likelihood of
    rows kept aside decides, and else it is one for all.
    """
    labelled, others = (y >= 0).nonzero()[:, 0], (y < 0).nonzero()[:, 0]
    rows = torch.cat([labelled, others[:_MOST_ROWS]])
    z, y = z[rows], y[rows]
    diagonal, shared = (_after_em(z, y, classes, kind).log_prob_all(z).argmax(1) for kind in ("diagonal", "shared"))
    if float((diagonal == shared).float().mean()) < _ALIKE:
        return "shared"
    better = _of_rows_aside(z, y, classes, "diagonal") > _of_rows_aside(z, y, classes, "shared")
    return "diagonal" if better else "shared"


def _of_rows_aside(z: Tensor, y: Tensor, classes: int, covariance: Covariance) -> float:
    """Return log p of rows without a label, each kept aside once."""
    total = 0.0
    others = (y < 0).nonzero()[:, 0]
    for aside in (others[fold::_FOLDS] for fold in range(_FOLDS)):
        kept = torch.ones(len(y), dtype=torch.bool)
        kept[aside] = False
        density = _after_em(z[kept], y[kept], classes, covariance)
        total += float(density.log_prob_all(z[aside]).logsumexp(1).sum())
    return total


def _after_em(z: Tensor, y: Tensor, classes: int, covariance: Covariance) -> GaussianPerClass:
    with torch.random.fork_rng(devices=[]):  # where its means are drawn does not matter: EM sets them
        density = GaussianPerClass(z.shape[1], classes, covariance)
    density.initialize(z, y)
    density.initialize(z, y, density.log_prob_all(z).softmax(1))
    return density
