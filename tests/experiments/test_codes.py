"""Codes of images, with models whose answers are known."""

import math

import numpy as np
import pytest
import torch

from scnf.data import Split
from scnf.experiments.codes import decoded_with_every_label, label_use, one_of_each_class, reconstructions
from scnf.modelfile import TrainedModel
from scnf.recipes.build import build_model
from tests.helpers import small_recipe
from tests.small_images import FLOW, random_images, small_image_model

WHOLE = {**FLOW, "levels": [{"channel": 1}]}


def model_of(flow, spread: float = 0.0) -> TrainedModel:
    """Return an untrained model of ten classes whose Gaussians lie so far apart, each along an axis of its own."""
    recipe = small_recipe(f=flow, h={"kind": "gaussian", "covariance": "diagonal"})
    torch.manual_seed(0)
    model = build_model(recipe.model, (1, 28, 28), 10).eval()
    with torch.no_grad():
        model.conditional.mean.zero_()
        model.conditional.mean[:, :10] += spread * torch.eye(10)
    return TrainedModel(model, recipe, tuple("0123456789"), 256)


def test_a_label_that_makes_no_difference_tells_nothing():
    trained = model_of(FLOW)
    found = label_use(trained, random_images(20), np.arange(20) % 10)
    assert found["label_nats"] == pytest.approx(0, abs=1e-3)
    assert found["label_gap"] == pytest.approx(0, abs=1e-3)
    assert found["swap_changed"] == 0


def test_a_label_that_decides_tells_all_there_is():
    trained = model_of(FLOW, spread=1000.0)
    images = random_images(20)
    y = trained.log_joint(images).argmax(1).numpy()
    found = label_use(trained, images, y)
    assert found["label_nats"] == pytest.approx(math.log(10), abs=1e-3)
    assert found["label_gap"] > 100
    assert found["swap_changed"] == 100


def test_all_components_give_the_image_back_and_few_do_not():
    images = random_images(3)
    assert np.array_equal(reconstructions(model_of(WHOLE), images), images[:, 0])
    assert not np.array_equal(reconstructions(small_image_model(), images), images[:, 0])


def test_the_own_label_gives_the_image_back_and_another_does_not():
    trained = model_of(WHOLE, spread=0.5)
    images, y = random_images(3), np.array([4, 0, 9])
    decoded = decoded_with_every_label(trained, images, y)
    assert decoded.shape == (3, 10, 28, 28)
    assert np.array_equal(decoded[np.arange(3), y], images[:, 0])
    assert not np.array_equal(decoded[0, 5], images[0, 0])


def test_the_first_row_of_each_class_is_taken():
    rows = np.zeros((5, 2), np.float32)
    split = Split("toy", 0, rows, np.zeros(5), rows, np.array([1, 1, 0, 2, 0]), ("a", "b", "c"))
    assert one_of_each_class(split).tolist() == [2, 0, 3]
