"""A trained model and its numbers on the split it was trained with."""

from typing import Any

import torch

from scnf.data import Split
from scnf.evaluation.metrics import evaluate
from scnf.modelfile import TrainedModel


def describe(trained: TrainedModel) -> dict[str, Any]:
    """Return what a model is and what it was trained on."""
    return {
        "data": trained.data.get("name"),
        "labels": trained.data.get("labels"),
        "seed": trained.data.get("seed"),
        "recipe": trained.recipe.name,
        "parameters": sum(parameter.numel() for parameter in trained.model.parameters()),
    }


def evaluate_on(trained: TrainedModel, split: Split) -> dict[str, float]:
    """Return the metrics of a model on the test rows of a split."""
    return evaluate(trained.model, torch.tensor(split.x_test), torch.tensor(split.y_test), split.levels)
