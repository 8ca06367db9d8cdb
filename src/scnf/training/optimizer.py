"""The optimiser of a model: which of its parameters decay, and how fast each learns."""

from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from scnf.bijections import ContextAffine
from scnf.model import SemiConditionalFlow
from scnf.recipes.schema import TrainingSpec
from scnf.training.muon import Muon

# Where h is alone, it sees the same latents again and again, and its nets decay so many times as fast.
_DECAY_ALONE = 2.0
_PREFIX = "optimizer."  # of the names in a checkpoint


def make_optimizer(model: SemiConditionalFlow, spec: TrainingSpec) -> torch.optim.Optimizer:
    """Return the optimiser that a recipe asks for."""
    groups = parameter_groups(model, spec)
    if spec.optimizer == "adamax":
        return torch.optim.Adamax(groups, lr=spec.learning_rate, betas=spec.betas)
    kind = Muon if spec.optimizer == "muon" else torch.optim.AdamW
    return kind(groups, lr=spec.learning_rate, betas=spec.betas, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give every group of parameters its multiple of a learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["multiple"]


def parameter_groups(model: SemiConditionalFlow, spec: TrainingSpec) -> list[dict[str, Any]]:
    """Return the parameters in groups: weights of the nets and all others, of h and of f.

    The weights of the nets alone decay: a decayed scale or rotation would be a prior on the flow itself.
    """
    of_the_flow = {
        id(p) for module in model.modules() if isinstance(module, ContextAffine) for p in module.parameters()
    }
    weights = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear | nn.Conv2d)}
    weights -= of_the_flow
    of_h = {id(p) for p in model.conditional.parameters()}
    groups = []
    for is_weight, in_h in product((True, False), (True, False)):
        members = [
            p
            for p in model.parameters()
            if p.requires_grad and (id(p) in weights) == is_weight and (id(p) in of_h) == in_h
        ]
        orthogonal = spec.optimizer == "muon" and is_weight and not in_h
        multiple = spec.muon_rate / spec.learning_rate if orthogonal else spec.h_rate if in_h else 1.0
        groups.append(
            {
                "params": members,
                "weight_decay": spec.weight_decay if is_weight else 0.0,
                "multiple": multiple,
                "orthogonal": orthogonal,
                "is_weight": is_weight,
                "in_h": in_h,
            }
        )
    return [group for group in groups if group["params"]]


def let_h_learn(optimizer: torch.optim.Optimizer, spec: TrainingSpec, alone: bool) -> None:
    """Forget what was kept of h; move its nets as the recipe moves those of f where it is ``alone``.

    Beside an f that moves h is Adam's: there Muon was not tried, and would make a step a good deal longer.
    """
    by_muon = alone and spec.optimizer == "muon"
    for group in optimizer.param_groups:
        if group["in_h"]:
            for parameter in group["params"]:
                optimizer.state.pop(parameter, None)
        if group["in_h"] and group["is_weight"]:
            # Alone, h has no multiple of the rate.
            group["orthogonal"] = by_muon
            group["multiple"] = spec.h_rate * (spec.muon_rate / spec.learning_rate if by_muon else 1)
            group["weight_decay"] = spec.weight_decay * (_DECAY_ALONE if by_muon else 1)


def state_by_name(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Return what the optimiser keeps of every parameter, as ``optimizer.<slot>.<name of the parameter>``."""
    names = _optimized_names(optimizer, model)
    state = optimizer.state_dict()["state"].items()
    return {f"{_PREFIX}{slot}.{names[i]}": torch.as_tensor(value) for i, kept in state for slot, value in kept.items()}


def load_state_by_name(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Go on from what ``state_by_name`` returned; other tensors may be among it."""
    slots: dict[int, dict[str, Tensor]] = {}
    indices = {name: index for index, name in enumerate(_optimized_names(optimizer, model))}
    for key, value in tensors.items():
        if key.startswith(_PREFIX):
            slot, name = key.removeprefix(_PREFIX).split(".", 1)
            slots.setdefault(indices[name], {})[slot] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})


def _optimized_names(optimizer: torch.optim.Optimizer, model: nn.Module) -> list[str]:
    """Return the names of the parameters as the optimiser counts them; a checkpoint must not rely on its order."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(parameter)] for group in optimizer.param_groups for parameter in group["params"]]
