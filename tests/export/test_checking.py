import torch

from scnf.export.checking import ROWS, Difference, Expectation
from scnf.export.writing import _with_enough_steps
from scnf.modelfile import TrainedModel
from scnf.recipes.build import build_model
from tests.helpers import randomize, small_recipe
from tests.small_images import small_image_model

ODE = {"kind": "ffjord", "hidden": 8}


def ode_model(scale: float) -> TrainedModel:
    recipe = small_recipe(f=ODE, h=ODE)
    return TrainedModel(randomize(build_model(recipe.model, (2,), 2), scale).eval(), recipe, ("a", "b"))


@torch.no_grad()
def test_images_are_checked_with_whole_numbers_that_differ():
    expected = Expectation(small_image_model())
    rows = expected.rows
    assert rows.shape == (ROWS, 1, 28, 28)
    assert torch.equal(rows, rows.floor())
    assert rows.min() >= 0
    assert rows.max() <= 255
    assert len(rows.unique(dim=0)) == ROWS


@torch.no_grad()
def test_the_rows_leave_the_posterior_in_doubt():
    expected = Expectation(ode_model(1.0))
    assert (expected._probabilities.max(1).values < 0.99).double().mean() > 0.1


@torch.no_grad()
def test_a_difference_is_told_of_probabilities_and_relative_log_densities():
    expected = Expectation(ode_model(1.0))
    probabilities, log_density = expected._probabilities.clone(), expected._log_density.clone()
    assert expected.difference((probabilities, log_density)) == Difference(0, 0)
    probabilities[3, 0] += 0.25
    log_density[5] *= 1.5
    told = expected.difference((probabilities, log_density))
    assert abs(told.probability - 0.25) < 1e-12
    assert 0 < told.log_density < 0.5001
    log_density[7] = torch.nan
    assert not expected.difference((probabilities, log_density)).within(Difference(1, 1))


@torch.no_grad()
def test_a_bent_ode_gets_more_steps():
    straight, bent = (_with_enough_steps(trained, Expectation(trained)) for trained in (ode_model(0.2), ode_model(3.0)))
    steps = [
        [layer.steps for layer in classifier.modules() if hasattr(layer, "stages")] for classifier in (straight, bent)
    ]
    assert steps[0] == [8, 8]
    assert steps[1][0] > 8
