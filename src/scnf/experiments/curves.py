"""How a fit came along: its loss and its test metrics against the time, without taking any of that time."""

import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scnf.data import Split
from scnf.evaluation.metrics import evaluate
from scnf.model import SemiConditionalFlow
from scnf.modelfile import TrainedModel
from scnf.training import Fitted
from scnf.training.snapshot import read_snapshot

_POINTS = 12
_TEST_ROWS = 1000


class Snapshots:
    """Copies of a fit's checkpoint, taken at even shares of the run; they outlast a kill as the checkpoint does."""

    def __init__(self, checkpoint: Path):
        self.checkpoint = checkpoint
        self.taken = max((int(path.name[-2:]) for path in self.paths()), default=0)

    def paths(self) -> list[Path]:
        """Return the copies in the order of time."""
        return sorted(self.checkpoint.parent.glob(f"{self.checkpoint.name}-[0-9][0-9]"))

    def take(self, share: float) -> None:
        """Copy the checkpoint if it is time for it; the end of the run needs none."""
        due = min(int(share * _POINTS), _POINTS - 1)
        if due > self.taken and self.checkpoint.is_file():
            temporary = self.checkpoint.with_name(f"{self.checkpoint.name}.copy")
            shutil.copyfile(self.checkpoint, temporary)
            os.replace(temporary, self.checkpoint.with_name(f"{self.checkpoint.name}-{due:02}"))
            self.taken = due


def curves_of(snapshots: Snapshots, fitted: Fitted, trained: TrainedModel, split: Split) -> dict[str, Any]:
    """Return ``test_curve``, metrics on the first test rows, and ``loss_curve``, minutes and nats, for a record."""

    def measured(model: SemiConditionalFlow, minutes: float, step: int) -> dict[str, float]:
        x, y = torch.tensor(split.x_test[:_TEST_ROWS]), torch.tensor(split.y_test[:_TEST_ROWS])
        return {"minutes": minutes, "step": step, **evaluate(model, x, y, split.levels)}

    points = []
    for path in snapshots.paths():
        snapshot = read_snapshot(path, trained.recipe.model, trained.model.shape, len(trained.classes))
        if snapshot is not None:
            step = sum(fitted.steps[: snapshot.restart]) + snapshot.step
            points.append(measured(snapshot.model, snapshot.seconds / 60, step))
    # The clock of the fit goes on through the objective over all rows, after the last step.
    end = min(fitted.seconds / 60, trained.recipe.training.max_minutes or math.inf)
    points.append(measured(trained.model, end, sum(fitted.steps)))
    return {"test_curve": points, "loss_curve": _loss_curve(fitted, points, split)}


def _loss_curve(fitted: Fitted, points: list[dict[str, float]], split: Split) -> list[list[float]]:
    # The model's unit is 1/levels of the data's.
    shift = 0.0 if split.levels is None else split.x_train[0].size * math.log(split.levels)
    steps = [sum(fitted.steps[: record.restart]) + record.step for record in fitted.history]
    # A record of the history does not know its time; between two checkpoints the pace is even enough.
    known_steps, known_minutes = ([0.0, *(point[key] for point in points)] for key in ("step", "minutes"))
    minutes = np.interp(steps, known_steps, known_minutes)
    losses = [record.loss + shift for record in fitted.history]
    return [[round(float(t), 4), round(loss, 4)] for t, loss in zip(minutes, losses, strict=True)]
