"""A small model for images of 28×28 bytes, and such images."""

import numpy as np
import torch

from scnf.modelfile import TrainedModel
from scnf.recipes.build import build_model
from tests.helpers import randomize, small_recipe

FLOW = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}, {"channel": 1, "keep": 2}], "hidden": 4}


def small_image_model(classes: tuple[str, ...] = tuple("0123456789")) -> TrainedModel:
    """Return a model that says it was trained on MNIST; its weights are random, and always the same."""
    recipe = small_recipe(f=FLOW, h={"kind": "gaussian"})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = randomize(build_model(recipe.model, (1, 28, 28), len(classes)), 0.1).eval()
    return TrainedModel(model, recipe, classes, 256, {"name": "mnist", "labels": 100, "seed": 0})


def random_images(n: int = 3) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 1, 28, 28), dtype=np.uint8)


def leaning(lean: float, bar: bool) -> torch.Tensor:
    """Return an image of a stroke that leans, with a bar across it or without."""
    down, right = torch.arange(28)[:, None] - 13.5, torch.arange(28) - 13.5
    ink = (-((right - lean * down) ** 2) / 2).exp() * (down.abs() < 9)
    if bar:
        ink = ink.maximum((-(down**2) / 2).exp() * (right.abs() < 6))
    return (255 * ink)[None, None].to(torch.uint8)
