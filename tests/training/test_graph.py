from dataclasses import replace

import pytest
import torch

from scnf.recipes import TrainingSpec
from scnf.training import fit, foretold
from scnf.training.graph import spread_labels
from scnf.training.objective import training_objective
from tests.helpers import blobs, same_weights, small_recipe
from tests.small_images import leaning

DATA = blobs(rows=200, labelled=4)
TRUTH = torch.arange(200) % 2


def test_labels_spread_to_the_rows_around_them():
    guess = spread_labels(DATA.x, DATA.y, 3)
    torch.testing.assert_close(guess.sum(1), torch.ones(200))
    assert torch.equal(guess.argmax(1), TRUTH)
    assert bool((guess[:, 2] == 0).all())  # a class without a label gets nothing


def test_a_row_that_no_label_reaches_is_of_all_classes_alike():
    x = torch.cat([torch.randn(20, 2), torch.randn(20, 2) + 1000])
    y = torch.full((40,), -1)
    y[0] = 1
    guess = spread_labels(x, y, 4)
    torch.testing.assert_close(guess[20:], torch.full((20, 4), 0.25))
    torch.testing.assert_close(guess[:20], torch.tensor([0.0, 1.0, 0.0, 0.0]).expand(20, 4))


def test_a_class_grows_along_its_rows_however_far():
    """Two lines side by side, each with one label at an end: what is far along a line is of its class, and sure."""
    along = torch.arange(300.0)
    x = torch.cat([torch.stack([along, torch.zeros(300)], 1), torch.stack([along, torch.full((300,), 8.0)], 1)])
    y = torch.full((600,), -1)
    y[0], y[599] = 0, 1
    guess = spread_labels(x, y, 2)
    assert torch.equal(guess.argmax(1), torch.arange(600) // 300)
    assert float(guess.amax(1).min()) > 0.9


def test_classes_are_as_frequent_as_among_the_labels():
    """A row halfway between two clouds goes to the class that would otherwise have too few."""
    generator = torch.Generator().manual_seed(0)
    x = torch.cat([torch.randn(200, 2, generator=generator), torch.randn(100, 2, generator=generator) + 3.0])
    y = torch.full((300,), -1)
    y[:5], y[200:210] = 0, 1
    few = float(spread_labels(x, y, 2)[:, 0].mean())
    y[:20] = 0
    many = float(spread_labels(x, y, 2)[:, 0].mean())
    assert few < 0.65 < many


@pytest.mark.parametrize("rows", [2, 4, 30])
def test_a_few_images_have_neighbours_too(rows):
    images = torch.cat([leaning(0.02 * row, bar=row % 2 == 0) for row in range(rows)])
    y = torch.full((rows,), -1)
    y[:2] = torch.tensor([1, 0])
    assert torch.equal(spread_labels(images, y, 2).argmax(1), (torch.arange(rows) + 1) % 2)


def test_two_rows_are_neighbours():
    guess = spread_labels(torch.tensor([[0.0], [1.0]]), torch.tensor([0, -1]), 2)
    torch.testing.assert_close(guess, torch.tensor([[1.0, 0.0], [1.0, 0.0]]))


def test_a_guess_is_what_is_known_of_a_row_before_it_is_looked_at():
    joint, weights = torch.tensor([[0.1, 0.3], [0.1, 0.3]]), torch.tensor([0.5, 0.5])
    guess = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    loss = training_objective(joint.log(), torch.tensor([0, -1]), weights, TrainingSpec(), log_guess=guess.log())
    expected = -0.5 * torch.tensor(0.1).log() - 0.5 * torch.tensor(0.25 * 0.1 + 0.75 * 0.3).log()
    torch.testing.assert_close(loss, expected)


def test_a_guess_may_stand_in_for_the_posterior():
    log_joint, weights = torch.tensor([[-1.0, -3.0], [-1.0, -3.0]]), torch.tensor([0.5, 0.5])
    guess = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    y, spec = torch.tensor([0, -1]), TrainingSpec()
    loss = training_objective(log_joint, y, weights, spec, log_guess=guess, only_guess=True)
    torch.testing.assert_close(loss, torch.tensor(0.5 * 1.0 + 0.5 * (0.25 * 1.0 + 0.75 * 3.0)))


def test_the_two_objectives_have_the_same_gradient_under_a_guess():
    y, weights = torch.tensor([0, -1, -1]), torch.full((3,), 1 / 3)
    guess = torch.rand(3, 4, generator=torch.Generator().manual_seed(1)).log()
    gradients = []
    for objective in ("sgd", "em"):
        log_joint = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
        spec = TrainingSpec(objective=objective)
        training_objective(log_joint, y, weights, spec, log_guess=guess).backward()
        gradients.append(log_joint.grad)
    torch.testing.assert_close(*gradients)


def test_the_guess_counts_for_its_part_of_the_run_alone():
    def trained(guess: float):
        return fit(small_recipe(guess=guess, steps=4), DATA).model

    assert not same_weights(trained(0.5), trained(0.0))
    assert not same_weights(trained(0.5), trained(1.0))
    assert same_weights(trained(0.5), trained(0.3))  # the steps begin at 0, 1/4, 2/4 and 3/4 of the run


def test_where_all_labels_are_known_nothing_is_guessed(monkeypatch):
    monkeypatch.setattr(foretold, "spread_labels", None)
    fit(small_recipe(guess=1.0, steps=2), replace(DATA, y=TRUTH))


def test_all_restarts_share_one_graph(monkeypatch):
    made = []
    monkeypatch.setattr(foretold, "spread_labels", lambda *given: made.append(1) or spread_labels(*given))
    fit(small_recipe(guess=1.0, steps=2, n_init=3, holdout=0.2), DATA)
    assert len(made) == 1


def test_the_guess_draws_nothing_from_the_generator_of_the_run():
    before = torch.random.get_rng_state()
    spread_labels(DATA.x, DATA.y, 2)
    assert torch.equal(torch.random.get_rng_state(), before)
