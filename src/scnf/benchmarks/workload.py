"""What the speed of a recipe is measured on: images like MNIST's, one training step and one inference step."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from scnf.model import SemiConditionalFlow
from scnf.recipes import load_recipe
from scnf.recipes.build import build_model
from scnf.training import TrainingData
from scnf.training.trial import Trial

SHAPE, CLASSES, LEVELS = (1, 28, 28), 10, 256
# Of MNIST's pixels 81 % are 0.
_BACKGROUND = 0.81


def images(rows: int, labelled: int) -> TrainingData:
    """Return random images with MNIST's shape and share of background, the first ``labelled`` with a label."""
    generator = torch.Generator().manual_seed(0)
    ink = torch.randint(1, LEVELS, (rows, *SHAPE), generator=generator)
    x = torch.where(torch.rand(ink.shape, generator=generator) < _BACKGROUND, 0, ink)
    y = torch.arange(rows) % CLASSES
    return TrainingData(x, torch.where(torch.arange(rows) < labelled, y, -1), CLASSES, LEVELS)


@dataclass(frozen=True)
class Workload:
    """A model with a batch: ``train`` takes a step of training, ``infer`` computes densities without gradients,
    ``draw`` makes a batch of training as ``train`` does.
    """

    model: nn.Module
    x: Tensor
    train: Callable[[], object]
    infer: Callable[[], object]
    draw: Callable[[], object] | None = None


def workload(recipe_name: str, batch_size: int) -> Workload:
    """Return the work of a recipe on batches of one size; everything else is as in its training."""
    recipe = load_recipe(recipe_name, {"training.batch_size": batch_size, "training.steps": 1_000_000})
    data = images(rows=2 * batch_size, labelled=batch_size)
    trial = Trial(recipe, data, seed=0, restart=0, fabric=Fabric(accelerator="cpu", devices=1))
    x = data.continuous()[:batch_size]
    return Workload(trial.model, x, trial.take_step, inference(trial.model, x), lambda: trial.batches(trial.step))


def inference_only(recipe_name: str, batch_size: int) -> Callable[[], object]:
    """Return the inference of a recipe without anything that serves its training."""
    model = build_model(load_recipe(recipe_name).model, SHAPE, CLASSES, torch.ones(CLASSES))
    return inference(model, images(batch_size, labelled=0).continuous())


def inference(model: SemiConditionalFlow, x: Tensor) -> Callable[[], object]:
    """Return log_joint of a batch as a task."""

    @torch.inference_mode()
    def infer() -> Tensor:
        return model.log_joint(x)

    return infer
