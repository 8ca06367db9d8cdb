"""What a trained model has made of equation 1."""

from itertools import islice

import torch
from lightning_fabric import Fabric

from scnf.model import SemiConditionalFlow
from scnf.training.batch_part import BatchPart
from scnf.training.data import TrainingData
from scnf.training.devices import add_over_processes
from scnf.training.losses import marginal_nll

# Hidden rows that tell it; labelled ones all do.
_ROWS = 16384
_ROWS_AT_ONCE = 1024


@torch.no_grad()
def mean_objective(model: SemiConditionalFlow, data: TrainingData, own_part: BatchPart, fabric: Fabric) -> float:
    """Return equation 1, a training row's mean; every process computes a part of it.

    Of very many rows without a label an excerpt stands for all.
    """
    rows = data.excerpt(_ROWS)
    total = {"labelled": 0.0, "hidden": 0.0}
    with torch.random.fork_rng():
        pieces = zip(rows.continuous().split(_ROWS_AT_ONCE), rows.y.split(_ROWS_AT_ONCE), strict=True)
        for piece, (x, y) in islice(enumerate(pieces), own_part.index, None, own_part.count):
            # Hutchinson's probes depend on the rows alone: not on the process, nor on where the run was resumed.
            torch.manual_seed(piece)
            nll = marginal_nll(model(fabric.to_device(x)), fabric.to_device(y)).cpu()
            total["labelled"] += float(nll[y >= 0].sum())
            total["hidden"] += float(nll[y < 0].sum())
    labelled, hidden = add_over_processes(fabric, *total.values())
    in_excerpt, in_all = int((rows.y < 0).sum()), int((data.y < 0).sum())
    return (labelled + hidden * (in_all / max(in_excerpt, 1))) / len(data.y)
