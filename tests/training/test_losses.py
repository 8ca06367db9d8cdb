import math

import pytest
import torch

from scnf.recipes import TrainingSpec
from scnf.recipes.build import build_model
from scnf.training import classification_loss, consistency_loss, em_nll, marginal_nll
from scnf.training.losses import log_responsibilities
from scnf.training.objective import training_objective
from tests.helpers import randomize, small_recipe

LOG_JOINT = torch.tensor([[0.1, 0.3], [0.1, 0.3], [0.2, 0.2]]).log()
Y = torch.tensor([0, -1, 1])


def test_marginal_nll_is_exact():
    assert marginal_nll(LOG_JOINT, Y).exp().tolist() == pytest.approx([10, 2.5, 5])


def test_clutter_adds_its_density_to_hidden_rows_alone():
    assert marginal_nll(LOG_JOINT, Y, math.log(0.6)).exp().tolist() == pytest.approx([10, 1, 5])


def test_responsibilities_and_clutter_add_up_to_one():
    assert log_responsibilities(LOG_JOINT).exp().sum(1).tolist() == pytest.approx([1, 1, 1])
    assert log_responsibilities(LOG_JOINT, math.log(0.6)).exp()[0].tolist() == pytest.approx([0.1, 0.3])


def test_em_nll_is_exact():
    log_resp = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.9, 0.1]]).log()
    expected = -0.25 * math.log(0.1) - 0.75 * math.log(0.3)
    assert em_nll(LOG_JOINT, log_resp, Y).tolist() == pytest.approx([math.log(10), expected, math.log(5)])


def test_em_nll_leaves_the_responsibilities_alone():
    log_joint = LOG_JOINT.clone().requires_grad_()
    em_nll(log_joint, log_joint.log_softmax(1), Y).sum().backward()
    expected = torch.tensor([[-1.0, 0.0], [-0.25, -0.75], [0.0, -1.0]])
    torch.testing.assert_close(log_joint.grad, expected)


def test_classification_loss_is_exact_and_ignores_hidden_rows():
    assert classification_loss(LOG_JOINT, Y).tolist() == pytest.approx([math.log(4), 0, math.log(2)])


def test_classification_loss_respects_the_temperature():
    loss = classification_loss(LOG_JOINT, Y, temperature=2.0)
    assert loss[0].item() == pytest.approx(math.log(1 + math.sqrt(3)))


def test_hidden_rows_get_no_gradient_of_the_classification_loss():
    log_joint = LOG_JOINT.clone().requires_grad_()
    classification_loss(log_joint, Y).sum().backward()
    assert log_joint.grad[1].tolist() == [0, 0]
    assert (log_joint.grad[[0, 2]] != 0).all()


@pytest.mark.parametrize("loss", [marginal_nll, classification_loss])
def test_one_row_gives_one_value(loss):
    assert loss(LOG_JOINT[:1], Y[:1]).shape == (1,)


def test_values_far_below_the_smallest_float_stay_finite():
    log_joint = torch.tensor([[-1e5, -1e5 - 1]])
    assert marginal_nll(log_joint, torch.tensor([-1])).item() == pytest.approx(1e5 - math.log(1 + math.exp(-1)))


@pytest.mark.parametrize(
    ("f", "h"),
    [
        ({"kind": "coupling", "steps": 2, "hidden": [8]}, {"kind": "coupling", "steps": 2, "hidden": [8]}),
        ({"kind": "coupling", "steps": 2, "hidden": [8], "map": "spline", "bound": 4}, {"kind": "gaussian"}),
        ({"kind": "ffjord", "hidden": 8}, {"kind": "ffjord", "hidden": 8}),
    ],
    ids=["coupling", "spline-gaussian", "ffjord"],
)
@pytest.mark.parametrize("log_clutter", [-math.inf, -3.0])
def test_fishers_identity(f, h, log_clutter):
    """At the current weights the gradient of EM's surrogate is that of the marginal likelihood, with clutter too."""
    model = randomize(build_model(small_recipe(f=f, h=h).model, (3,), classes=4)).double()
    x, y = torch.randn(20, 3).double(), torch.tensor([0, 1, 2, 3, *[-1] * 16])
    gradients = []
    for name in ("sgd", "em"):
        spec, weights = TrainingSpec(objective=name), torch.full((20,), 1 / 20).double()
        loss = training_objective(model(x), y, weights, spec, log_clutter=log_clutter)
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for (name, _), direct, surrogate in zip(model.named_parameters(), *gradients, strict=True):
        assert direct.abs().sum() > 0, name
        torch.testing.assert_close(surrogate, direct, rtol=1e-9, atol=1e-12, msg=name)


def test_objective_weighs_rows_and_adds_the_classification_loss():
    weights = torch.tensor([0.5, 0.3, 0.2])
    plain = 0.5 * math.log(10) + 0.3 * math.log(2.5) + 0.2 * math.log(5)
    clf = (math.log(4) + math.log(2)) / 2
    assert training_objective(LOG_JOINT, Y, weights, TrainingSpec()).item() == pytest.approx(plain)
    spec = TrainingSpec(clf_weight=0.7)
    assert training_objective(LOG_JOINT, Y, weights, spec).item() == pytest.approx(plain + 0.7 * clf)


def test_classification_weight_without_labels_changes_nothing():
    hidden, weights = torch.full((3,), -1), torch.full((3,), 1 / 3)
    plain, weighted = (training_objective(LOG_JOINT, hidden, weights, TrainingSpec(clf_weight=w)) for w in (0.0, 1.0))
    assert torch.equal(plain, weighted)


def test_consistency_is_the_cross_entropy_to_the_clean_posterior():
    log_joint, of_copies = torch.randn(2, 4, 3).double()
    loss = consistency_loss(log_joint, of_copies, torch.full((4,), -1), temperature=2.0)
    expected = -(log_joint.softmax(1) * (of_copies / 2).log_softmax(1)).sum(1)
    torch.testing.assert_close(loss, expected)


def test_a_known_label_teaches_the_copy():
    log_joint, of_copies = torch.randn(2, 4, 3).double()
    y = torch.tensor([2, -1, 0, -1])
    loss = consistency_loss(log_joint, of_copies, y)
    torch.testing.assert_close(loss[[0, 2]], -of_copies.log_softmax(1)[[0, 2], [2, 0]])


def test_the_clean_row_is_not_taught_by_its_copy():
    log_joint, of_copies = torch.randn(4, 3).requires_grad_(), torch.randn(4, 3).requires_grad_()
    consistency_loss(log_joint, of_copies, torch.full((4,), -1)).sum().backward()
    assert log_joint.grad is None
    assert of_copies.grad is not None


def test_unsure_rows_teach_nothing():
    log_joint = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]).log()
    loss = consistency_loss(log_joint, torch.zeros(3, 2), torch.tensor([-1, -1, 1]), confidence=0.8)
    assert loss[1] == 0
    assert (loss[[0, 2]] > 0.6).all()  # a label is sure


def test_a_limit_keeps_rows_that_are_told_very_badly_from_leading():
    teacher, y = torch.tensor([[100.0, 0.0]] * 3).double(), torch.full((3,), -1)
    z = torch.tensor([1.0, 100.0, 10_000.0], dtype=torch.float64, requires_grad=True)
    log_joint = torch.stack([-((z + 1) ** 2), -((z - 1) ** 2)], 1)  # z is far on the wrong side
    plain = consistency_loss(teacher, log_joint, y)
    limited = consistency_loss(teacher, log_joint, y, limit=2.0)
    torch.testing.assert_close(limited, 2 * (1 + plain / 2).log())
    (of_plain,), (of_limited,) = (torch.autograd.grad(loss.sum(), z, retain_graph=True) for loss in (plain, limited))
    torch.testing.assert_close(of_limited, of_plain / (1 + plain / 2))
    assert of_limited[0] > of_limited[1] > of_limited[2] > 0
