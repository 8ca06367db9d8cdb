"""The optimiser of a model, and which of its parameters decay."""

from typing import Any

import torch
from torch import nn

from scnf.bijections import ContextAffine
from scnf.recipes.schema import TrainingSpec


def make_optimizer(model: nn.Module, spec: TrainingSpec) -> torch.optim.Optimizer:
    """Return the optimiser that a recipe asks for."""
    groups = parameter_groups(model, spec.weight_decay)
    if spec.optimizer == "adamax":
        return torch.optim.Adamax(groups, lr=spec.learning_rate, betas=spec.betas)
    return torch.optim.AdamW(groups, lr=spec.learning_rate, betas=spec.betas, fused=True)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Decay the weights of the nets alone: a decayed scale or rotation would be a prior on the flow itself."""
    of_the_flow = {
        id(p) for module in model.modules() if isinstance(module, ContextAffine) for p in module.parameters()
    }
    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear | nn.Conv2d)}
    decayed -= of_the_flow
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if id(p) in decayed], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in decayed], "weight_decay": 0.0},
    ]
