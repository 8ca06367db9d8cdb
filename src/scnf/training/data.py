"""The rows that a model learns from."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from scnf.data import Split
from scnf.data.batches import dequantize
from scnf.errors import UserError

_LABELS_KEPT = 5  # of each class, whatever else is kept aside


@dataclass(frozen=True)
class TrainingData:
    """Rows to learn from: x ``[N, *shape]``, y ``[N]`` with -1 where hidden, the number of classes, and the number of
    levels if x holds integers to be dequantised.

    Labels of any whole type are kept as int64.
    """

    x: Tensor
    y: Tensor
    classes: int
    levels: int | None = None

    def __post_init__(self) -> None:
        if self.x.dim() < 2 or self.y.dim() != 1 or len(self.x) != len(self.y):
            shapes = f"x {list(self.x.shape)} and y {list(self.y.shape)}"
            raise UserError(f"x must hold rows [N, ...] and y a label for each, [N], but they are {shapes}")
        if self.y.is_floating_point() or self.y.is_complex():
            raise UserError(f"labels must be whole numbers, but y holds {self.y.dtype}")
        object.__setattr__(self, "y", self.y.long())  # frozen for others
        finite = torch.isfinite(self.x).flatten(1).all(1)
        if not bool(finite.all()):
            row = int((~finite).nonzero()[0])
            raise UserError(f"x must hold finite numbers alone, but row {row} has a NaN or an infinity")
        known = (self.y >= -1) & (self.y < self.classes)
        if not bool(known.all()):
            row = int((~known).nonzero()[0])
            right = f"-1 (hidden) or 0 to {self.classes - 1}"
            raise UserError(f"labels must be {right}, but row {row} has {self.y[row].item()}")

    @classmethod
    def of(cls, split: Split) -> "TrainingData":
        """Return the training rows of a split as tensors."""
        return cls(torch.tensor(split.x_train), torch.tensor(split.y_train), len(split.classes), split.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return tuple(self.x.shape[1:])

    @property
    def is_images(self) -> bool:
        """Whether rows are images of whole numbers, which can be shifted and turned."""
        return self.levels is not None and len(self.shape) == 3

    def continuous(self) -> Tensor:
        """Return all rows as the model sees them, dequantised with a fixed seed."""
        if self.levels is None:
            return self.x
        return dequantize(self.x, self.levels, torch.Generator().manual_seed(0))

    def excerpt(self, hidden: int) -> "TrainingData":
        """Return the labelled rows and at most so many others, evenly spread."""
        labelled, others = (self.y >= 0).nonzero()[:, 0], (self.y < 0).nonzero()[:, 0]
        if len(others) <= hidden:
            return self
        rows = torch.cat([labelled, others[torch.arange(hidden) * len(others) // hidden]])
        return TrainingData(self.x[rows], self.y[rows], self.classes, self.levels)

    def hold_out(self, share: float) -> tuple["TrainingData", "TrainingData"]:
        """Return the rows without a share of those that have no label, and that share; always the same ones.

        Where most rows have a label it is a share of the labelled ones too, but for a few of each class.
        """
        free = self.y < 0
        if 2 * int(free.sum()) < len(free):
            for k in range(self.classes):
                free[(self.y == k).nonzero()[_LABELS_KEPT:, 0]] = True
        rows = free.nonzero()[:, 0]
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
        kept = torch.ones(len(self.y), dtype=torch.bool)
        kept[rows[order[: int(share * len(rows))]]] = False
        parts = [TrainingData(self.x[part], self.y[part], self.classes, self.levels) for part in (kept, ~kept)]
        return parts[0], parts[1]


def gaussian_log_density(x: Tensor) -> float:
    """Return the mean log-density of rows ``[N, ...]`` under a Gaussian with their deviations, a measure of theirs."""
    deviations = x.flatten(1).double().std(0, correction=0).clamp(min=1e-12)
    return -float((deviations.log() + 0.5 * math.log(2 * math.pi * math.e)).sum())
