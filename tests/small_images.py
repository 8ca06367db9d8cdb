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
