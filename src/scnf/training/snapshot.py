"""The model inside a checkpoint: what a run was at that moment."""

from dataclasses import dataclass
from pathlib import Path

import torch

from scnf.model import SemiConditionalFlow
from scnf.recipes.build import build_model
from scnf.recipes.schema import ModelSpec
from scnf.tensorfile import read_tensors


@dataclass(frozen=True)
class Snapshot:
    """A model in the middle of its training (averaged weights, evaluation mode), and when that was."""

    model: SemiConditionalFlow
    restart: int
    step: int
    seconds: float


@torch.no_grad()
def read_snapshot(checkpoint: Path, spec: ModelSpec, shape: tuple[int, ...], classes: int) -> Snapshot | None:
    """Return the model that was being trained when a checkpoint was written; None if that was between two restarts."""
    tensors, values = read_tensors(checkpoint)
    if "trial" not in values:
        return None
    prefix = "trial.model."
    weights = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    # The label prior is among the weights; any will do to build the model.
    model = build_model(spec, shape, classes, torch.ones(classes))
    model.load_state_dict(weights)
    for i, parameter in enumerate(model.parameters()):
        parameter.copy_(tensors[f"trial.average.{i}"])
    return Snapshot(model.eval(), values["trial"]["restart"], values["trial"]["step"], values["seconds"])
