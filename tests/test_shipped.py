"""Models that come with the package: found by name, ready for rows as the data have them."""

from pathlib import Path

import numpy as np
import pytest
import torch

import scnf
from scnf import shipped
from scnf.errors import UserError
from scnf.evaluation.metrics import log_joint_of
from tests.helpers import same_weights
from tests.small_images import random_images, small_image_model


@pytest.mark.parametrize("name", ["tiny-100", Path("tiny-100")])
@pytest.mark.usefixtures("shelf")
def test_a_shipped_model_is_loaded_by_its_name(name):
    loaded = scnf.load(name)
    assert same_weights(loaded.model, small_image_model().model)
    assert (loaded.levels, loaded.classes[3]) == (256, "3")


def test_what_lies_at_the_path_comes_first(shelf: Path):
    Path("tiny-100").mkdir()
    with pytest.raises(FileNotFoundError, match=r"tiny-100 holds no model\.safetensors"):
        scnf.load("tiny-100")
    small_image_model(("yes", "no")).save(Path("tiny-100/model.safetensors"))
    assert scnf.load("tiny-100").classes == ("yes", "no")


def test_an_unknown_name_lists_the_shipped_ones(shelf: Path):
    small_image_model().save(shelf / "other-50.safetensors")
    with pytest.raises(FileNotFoundError, match=r"^nothing does not exist, .*\(shipped are other-50, tiny-100\)$"):
        scnf.load("nothing")
    for path in shelf.iterdir():
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"^nothing does not exist, .*\(none is\)$"):
        scnf.load("nothing")


@pytest.mark.parametrize("name", shipped.shipped_models())
def test_every_shipped_model_is_small_and_can_be_loaded(name: str):
    assert shipped.shipped_file(name).stat().st_size <= shipped.LARGEST_FILE
    trained = scnf.load(name)
    assert trained.data.keys() >= {"name", "labels", "seed"}
    x, label = trained.sample(2, trained.classes[0])
    assert trained.predict(x).probabilities.shape == (2, len(trained.classes))
    assert label.tolist() == [trained.classes[0]] * 2


def test_bytes_are_predicted_as_the_model_predicts_them():
    trained, x = small_image_model(), random_images()
    prediction = trained.predict(x)
    log_joint = log_joint_of(trained.model, torch.tensor(x), 256)
    np.testing.assert_allclose(prediction.probabilities, log_joint.softmax(1), rtol=1e-5)
    np.testing.assert_allclose(prediction.log_density, log_joint.logsumexp(1), rtol=1e-6)
    assert prediction.label.tolist() == [trained.classes[k] for k in log_joint.argmax(1)]


@pytest.mark.parametrize("form", [torch.tensor, lambda x: x[:, 0], lambda x: x.reshape(3, 784).astype(float)])
def test_rows_may_come_in_every_usual_form(form):
    x = random_images()
    assert np.array_equal(small_image_model().predict(form(x)).log_density, small_image_model().predict(x).log_density)


@pytest.mark.parametrize(
    ("x", "named"),
    [
        (random_images()[0, 0], r"x has shape 28×28, but the model takes rows of 1×28×28 values"),
        (random_images() / 255, r"x, row 1, column 1: .*but the model was trained on whole numbers from 0 to 255"),
        (random_images()[:0], "x holds no rows"),
        (np.full((1, 28, 28), "a"), "x holds values of type <U1, not numbers"),
    ],
)
def test_rows_that_are_none_are_refused(x, named):
    with pytest.raises(UserError, match=named):
        small_image_model().predict(x)


def test_samples_are_bytes_of_the_class_that_was_asked_for():
    x, label = small_image_model().sample(5, "7", seed=3)
    assert (x.dtype, x.shape, set(label)) == (np.uint8, (5, 1, 28, 28), {"7"})
    assert np.array_equal(x, small_image_model().sample(5, "7", seed=3)[0])
    assert not np.array_equal(x, small_image_model().sample(5, "7", seed=4)[0])
    assert set(small_image_model().sample(100)[1]) == set("0123456789")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"n": 0}, "number of samples must be at least 1, got 0"),
        ({"n": 1, "label": "ten"}, "unknown label 'ten'; the model has 0, 1"),
        ({"n": 1, "seed": -1}, "seed must lie between 0 and 4294967295, got -1"),
    ],
)
def test_samples_that_cannot_be_are_refused(asked, named):
    with pytest.raises(UserError, match=named):
        small_image_model().sample(**asked)


def test_the_model_of_mnist_knows_the_digits_that_it_draws():
    model = scnf.load("mnist-100")
    x, y = model.sample(100, temperature=0.7, seed=0)
    assert x.shape == (100, 1, 28, 28)
    assert (model.predict(x).label == y).mean() > 0.9
