"""Classes that are drawn for the rows of a step."""

import torch
from torch import Tensor

from scnf.data.batches import seeded
from scnf.training.batch_part import BatchPart
from scnf.training.losses import drawn_classes


def drawn_for(part: BatchPart, log_shares: Tensor, y: Tensor, rows: int, seed: tuple[int, int]) -> Tensor:
    """Return the labels of a part of a step's rows, ``[B]``: the known one, or else a class drawn by its share.

    All ``rows`` of the step are drawn for, so that it does not matter which parts they are in. ``seed`` is that of the
    run and the number of the step.
    """
    uniform = torch.rand(rows, log_shares.shape[1], generator=seeded(*seed, 6))
    return drawn_classes(log_shares, y, part.of(uniform).to(y.device))
