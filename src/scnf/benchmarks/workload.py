"""What the speed of a recipe is measured on: images like MNIST's, one training step and one inference step."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from scnf.data.batches import Batches
from scnf.model import SemiConditionalFlow
from scnf.processor import fast_products
from scnf.recipes import load_recipe
from scnf.recipes.build import build_model
from scnf.training import TrainingData
from scnf.training.trial import Trial

SHAPE, CLASSES, LEVELS = (1, 28, 28), 10, 256
# Batches are drawn from as many images as MNIST has for training, of which the recipes know so few labels.
ROWS, LABELLED = 60_000, 100
# More would only take longer to make: no task sees that images come again.
_DIFFERENT = 1_000
# Of MNIST's pixels 81 % are 0.
_BACKGROUND = 0.81


def images(rows: int, labelled: int) -> TrainingData:
    """Return random bytes with MNIST's shape and share of background, the first ``labelled`` images with a label."""
    generator = torch.Generator().manual_seed(0)
    shape = (min(rows, _DIFFERENT), *SHAPE)
    ink = torch.randint(1, LEVELS, shape, generator=generator, dtype=torch.uint8)
    ink[torch.rand(shape, generator=generator) < _BACKGROUND] = 0
    number = torch.arange(rows)
    y = torch.where(number < labelled, number % CLASSES, -1)
    return TrainingData(ink[number % len(ink)], y, CLASSES, LEVELS)


@dataclass(frozen=True)
class Workload:
    """A model with the images ``x`` that go through it at once: ``train`` takes a step of training, which may take
    several times as many, ``infer`` computes densities of x without gradients, ``draw`` makes the next batch of
    training as ``train`` does, altered copies included.
    """

    model: nn.Module
    x: Tensor
    train: Callable[[], object]
    infer: Callable[[], object]
    draw: Callable[[], object] | None = None


def workload(recipe_name: str, batch_size: int, **faster: object) -> Workload:
    """Return the work of a recipe on batches of one size; everything else is as in its training, but for keys of the
    training that make it ``faster``.
    """
    settings: dict[str, object] = {
        "training.batch_size": batch_size,
        "training.steps": 1_000_000,
        **{f"training.{key}": value for key, value in faster.items()},
    }
    if load_recipe(recipe_name).training.consistency is not None:
        settings["training.consistency.start"] = 0.0  # no step is measured without the copies
    recipe = load_recipe(recipe_name, settings)
    few, data = images(rows=2 * batch_size, labelled=batch_size), images(ROWS, LABELLED)
    # Start and graph look at thousands of images, but are no part of a step: few images and no news do as well.
    guess = torch.full((ROWS, CLASSES), 1 / CLASSES)
    trial = Trial(recipe, few, seed=0, restart=0, fabric=Fabric(accelerator="cpu", devices=1), guess=guess)
    # Two, so that neither makes the order of the rows anew because the other is in another epoch.
    trial.batches, own = (Batches(data.x, data.y, trial.spec, trial.seed, data.levels) for _ in range(2))
    x = few.continuous()[: images_at_once(recipe_name, batch_size)]
    return Workload(trial.model, x, trial.take_step, inference(trial.model, x), _drawing(own))


def images_at_once(recipe_name: str, batch_size: int) -> int:
    """Return how many images of a batch go through the model at once."""
    return min(batch_size, load_recipe(recipe_name).training.part_size or batch_size)


def _drawing(batches: Batches) -> Callable[[], object]:
    """Return the making of batch after batch as a task."""
    steps, consistency = count(), batches.spec.consistency

    def draw() -> tuple[Tensor, ...]:
        step = next(steps)
        copies = () if consistency is None else batches.copies(step, consistency)
        return *batches(step), *copies

    return draw


def inference_only(recipe_name: str, batch_size: int) -> Callable[[], object]:
    """Return the inference of a recipe without anything that serves its training."""
    model = build_model(load_recipe(recipe_name).model, SHAPE, CLASSES, torch.ones(CLASSES))
    return inference(model, images(images_at_once(recipe_name, batch_size), labelled=0).continuous())


def inference(model: SemiConditionalFlow, x: Tensor) -> Callable[[], object]:
    """Return log_joint of a batch as a task."""

    @torch.inference_mode()
    def infer() -> Tensor:
        with fast_products():
            return model.log_joint(x)

    return infer
