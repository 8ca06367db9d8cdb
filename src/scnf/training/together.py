"""The first part of a run or round, in which f and h learn together: what a batch tells them."""

from typing import NamedTuple, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from scnf.data.batches import Batches
from scnf.recipes.schema import ConsistencySpec, TrainingSpec
from scnf.training.batch_part import BatchPart
from scnf.training.drawn import drawn_for
from scnf.training.foretold import Foretold, log_of
from scnf.training.objective import consistency_objective, training_objective, wrongly_told
from scnf.training.schedule import clutter_level, consistency_weight

# A pass of h for the labelled rows' own classes alone takes its time; it must spare so many pairs of a row and a class.
_PAIRS_WORTH_A_PASS = 512
# A part's loss, and which of its labelled rows are told wrongly.
Told = tuple[Tensor, Tensor]


class Batch(NamedTuple):
    """The rows of a step, x ``[B, ...]`` with labels and weights, and which they are; ``labelled`` ones stand first.

    Copies, if there are any, are those of the rows at some places of the batch.
    """

    x: Tensor
    y: Tensor
    weights: Tensor
    rows: Tensor
    labelled: int
    seed: tuple[int, int]  # that of the run, and the step
    copies: tuple[Tensor, Tensor] | None


class Together:
    """What f and h learn together.

    Args:
        module: the model, as it is trained.
        fabric: where it is.
        spec: how it learns.
        foretold: what is known of the classes of all rows.
        of_a_gaussian: a row's log-density under a Gaussian, in the mean.
    """

    def __init__(self, module: nn.Module, fabric: Fabric, spec: TrainingSpec, foretold: Foretold, of_a_gaussian: float):
        self.module, self.fabric, self.spec, self.foretold = module, fabric, spec, foretold
        self._of_a_gaussian = of_a_gaussian

    def batch(self, batches: Batches, step: int, progress: float) -> Batch:
        """Return the rows of a step, and altered copies of some of them if they are to be taught by now."""
        consistency = self.spec.consistency
        is_due = consistency is not None and progress > consistency.start
        copies = batches.copies(step, cast(ConsistencySpec, consistency)) if is_due else None
        labelled = batches.counts["labelled"]
        return Batch(*batches(step, progress), batches.rows(step), labelled, (batches.seed, step), copies)

    def loss(self, batch: Batch, progress: float, part: BatchPart) -> Told:
        """Return a part of the loss of a batch, and which of its labelled rows are told wrongly."""
        x, y, weights = self.fabric.to_device(tuple(map(part.of, (batch.x, batch.y, batch.weights))))
        only_guess = progress < self.spec.guess or self.foretold.said is not None
        shares = self.foretold.by_all()
        guess = None if shares is None else self.fabric.to_device(log_of(shares, part.of(batch.rows)))
        clutter = self._of_a_gaussian + clutter_level(self.spec, progress)
        if batch.copies is None:
            if guess is not None and only_guess and self._is_worth_a_pass(len(y)):
                # A class drawn by its share gives the gradient of the mean over all of them, at h's price for one.
                drawn = drawn_for(part, guess, y, len(batch.y), batch.seed)
                log_joint = self.module(x, drawn)
                return training_objective(log_joint, drawn, weights, self.spec), torch.empty(0)
            known = self._known(y, batch.labelled // part.count)
            log_joint = self.module(x, known)
            loss = training_objective(log_joint, y, weights, self.spec, batch.labelled, guess, only_guess, clutter)
            return loss, wrongly_told(log_joint, y) if known is None else torch.empty(0)
        consistency = cast(ConsistencySpec, self.spec.consistency)
        own, places = part.places(batch.copies[1])
        copies, places = self.fabric.to_device((batch.copies[0][own], places))
        # One pass for rows and copies: larger products, and the only one that data-parallel modules expect.
        log_joint, of_copies = self.module(torch.cat([x, copies])).split([len(x), len(copies)])
        loss = training_objective(log_joint, y, weights, self.spec, batch.labelled, guess, only_guess, clutter)
        counts = len(batch.y), len(own)
        taught = consistency_objective(log_joint, of_copies, y, places, guess, only_guess, consistency, counts)
        return loss + consistency_weight(consistency, progress) * taught, wrongly_told(log_joint, y)

    def _known(self, y: Tensor, labelled: int) -> Tensor | None:
        """Return the labels of rows of whose classes h need only be asked one, if there are enough to gain by it.

        All parts have as many, or a compiled model would be translated anew; one that has more is asked for all.
        """
        return y[:labelled] if self._is_worth_a_pass(labelled) else None

    def _is_worth_a_pass(self, rows: int) -> bool:
        return rows * (self.foretold.data.classes - 1) >= _PAIRS_WORTH_A_PASS and not self.spec.clf_weight
