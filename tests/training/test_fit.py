import math

import pytest
import torch
from lightning_fabric import Fabric
from torch.optim.optimizer import register_optimizer_step_pre_hook

from scnf.errors import UserError
from scnf.evaluation.metrics import error_percent
from scnf.tensorfile import read_tensors
from scnf.training import DivergedError, TrainingData, fit, together
from scnf.training.data import gaussian_log_density
from scnf.training.objective import training_objective
from scnf.training.schedule import clutter_level
from scnf.training.trial import Trial
from tests.helpers import blobs, same_weights, small_recipe

DATA = blobs()


def test_same_seed_gives_the_same_weights():
    torch.manual_seed(1)
    first = fit(small_recipe(noise=0.1), DATA, seed=3)
    torch.manual_seed(2)
    torch.rand(5)
    second = fit(small_recipe(noise=0.1), DATA, seed=3)
    assert same_weights(first.model, second.model)
    assert first.objectives == second.objectives
    assert first.history == second.history
    assert not same_weights(first.model, fit(small_recipe(noise=0.1), DATA, seed=4).model)


@pytest.mark.parametrize("trace", ["auto", "hutchinson"])
def test_a_continuous_flow_trains_the_same_way_twice(trace):
    recipe = small_recipe(f={"kind": "ffjord", "hidden": 8, "solver_steps": 2, "trace": trace}, steps=4)
    first, second = fit(recipe, DATA), fit(recipe, DATA)
    assert same_weights(first.model, second.model)
    assert first.objectives == second.objectives


def test_training_learns():
    fitted = fit(small_recipe(steps=100, learning_rate=0.01), DATA)
    losses = [record.loss for record in fitted.history]
    assert losses[-1] < losses[0] - 0.5
    truth = torch.arange(len(DATA.y)) % 2
    assert error_percent(fitted.model.log_joint(DATA.x), truth) < 10
    assert not fitted.model.training
    assert fitted.parameters == sum(p.numel() for p in fitted.model.parameters())


def test_rows_beyond_clutter_wait_until_it_falls():
    """Rows far from all labels pull at nothing at first, and are learned like the rest in the end."""
    far = torch.cat([DATA.x, torch.tensor([[40.0, 0.0]]).repeat(20, 1)])
    data = TrainingData(far, torch.cat([DATA.y, torch.full((20,), -1)]), 2)
    moved = {}
    for clutter in (None, 20.0):
        trial = Trial(small_recipe(clutter=clutter, steps=2), data, 0, 0, Fabric(accelerator="cpu", devices=1))
        x, y, weights = trial.batches(0)
        x = x.requires_grad_()
        level = trial._of_a_gaussian + clutter_level(trial.spec, 0.0)
        loss = training_objective(trial.model(x), y, weights, trial.spec, log_clutter=level)
        hidden = (y < 0) & (x[:, 0] > 30)
        moved[clutter] = torch.autograd.grad(loss, x)[0][hidden].abs().sum()
    assert moved[20.0] < 1e-3 * moved[None]
    assert math.isfinite(fit(small_recipe(clutter=1.0), data).objectives[0])


def test_clutter_is_measured_against_a_gaussian():
    x = torch.randn(50_000, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor([2.0, 0.5])
    assert gaussian_log_density(x) == pytest.approx(-math.log(2 * math.pi * math.e), abs=0.02)


@pytest.mark.parametrize("labelled", [0, 60])
def test_training_without_and_with_all_labels(labelled):
    fitted = fit(small_recipe(), blobs(labelled=labelled))
    assert math.isfinite(fitted.objectives[0])


def test_training_on_integers_dequantises_them():
    x = torch.randint(0, 17, (40, 1, 4, 4), dtype=torch.uint8)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4}
    fitted = fit(small_recipe(f=f, steps=3), TrainingData(x, torch.arange(40) % 2, 2, levels=17))
    assert fitted.model.shape == (1, 4, 4)
    assert math.isfinite(fitted.objectives[0])


def test_sgd_and_em_take_the_same_path():
    sgd, em = (fit(small_recipe(objective=name, steps=5), DATA).model for name in ("sgd", "em"))
    start = fit(small_recipe(steps=1, learning_rate=1e-12), DATA).model
    for name, value in sgd.state_dict().items():
        torch.testing.assert_close(em.state_dict()[name], value, rtol=1e-3, atol=1e-5)
    assert not same_weights(sgd, start)


@pytest.mark.parametrize("clf_weight", [0.0, 1.0])
def test_sparing_h_the_other_classes_of_labelled_rows_changes_no_step(monkeypatch, clf_weight):
    def trained(pairs: int):
        monkeypatch.setattr(together, "_PAIRS_WORTH_A_PASS", pairs)
        return fit(small_recipe(clf_weight=clf_weight), DATA)

    plain, spared = trained(pairs=1_000_000), trained(pairs=0)
    for one, other in zip(plain.model.state_dict().values(), spared.model.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_where_no_step_tells_how_many_labelled_rows_are_told_wrongly_all_are_looked_at(monkeypatch):
    monkeypatch.setattr(together, "_PAIRS_WORTH_A_PASS", 0)
    trial = Trial(small_recipe(), DATA, 0, 0, Fabric(devices=1, accelerator="cpu"))
    labelled = DATA.y >= 0
    errors = []
    for _ in range(12):
        trial.take_step()
        told = trial.model.log_joint(DATA.x[labelled]).argmax(1)
        errors.append(100 * float((told != DATA.y[labelled]).float().mean()))
    assert [record.labelled_error for record in trial.history] == pytest.approx(errors)
    assert len(set(errors)) > 1  # it learns


def test_products_of_16_bits_train_much_the_same_model():
    full, rounded = (fit(small_recipe(products=name), DATA) for name in ("full", "bf16"))
    assert not same_weights(full.model, rounded.model)
    assert rounded.objectives[0] == pytest.approx(full.objectives[0], abs=0.05)


def test_the_best_of_several_starts_is_kept(monkeypatch):
    monkeypatch.setattr(Trial, "objective", lambda trial: [3.0, 1.0, 2.0][trial.restart])
    best_of_three = fit(small_recipe(n_init=3), DATA)
    assert best_of_three.objectives == [3.0, 1.0, 2.0]
    trial = Trial(small_recipe(n_init=3), DATA, 0, 1, Fabric(devices=1, accelerator="cpu"))
    trial.run()
    with trial.average.applied():
        assert same_weights(best_of_three.model, trial.model)


def test_restarts_differ_and_report_their_true_objective():
    fitted = fit(small_recipe(n_init=3), DATA)
    assert len(set(fitted.objectives)) == 3
    joint = fitted.model.log_joint(DATA.x)
    known = joint.gather(1, DATA.y.clamp(min=0)[:, None])[:, 0]
    objective = -torch.where(DATA.y >= 0, known, joint.logsumexp(1)).mean().item()
    assert objective == pytest.approx(min(fitted.objectives), rel=1e-5)
    assert {record.restart for record in fitted.history} == {0, 1, 2}


def test_a_start_without_a_finite_objective_does_not_win(monkeypatch):
    monkeypatch.setattr(Trial, "objective", lambda trial: [math.nan, 2.0, math.inf][trial.restart])
    fitted = fit(small_recipe(n_init=3), DATA)
    trial = Trial(small_recipe(n_init=3), DATA, 0, 1, Fabric(devices=1, accelerator="cpu"))
    trial.run()
    with trial.average.applied():
        assert same_weights(fitted.model, trial.model)


def test_rows_that_are_not_finite_are_refused():
    x = DATA.x.clone()
    x[7, 1] = math.nan
    with pytest.raises(UserError, match="row 7"):
        TrainingData(x, DATA.y, 2)


@pytest.mark.parametrize("label", [-2, 2])
def test_labels_of_no_class_are_refused(label):
    y = DATA.y.clone()
    y[7] = label
    with pytest.raises(UserError, match=rf"labels must be -1 \(hidden\) or 0 to 1, but row 7 has {label}$"):
        TrainingData(DATA.x, y, 2)


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (DATA.x, DATA.y[:-1], r"but they are x \[60, 2\] and y \[59\]$"),
        (DATA.x[:, 0], DATA.y, r"but they are x \[60\] and y \[60\]$"),
        (DATA.x, DATA.y[:, None], r"but they are x \[60, 2\] and y \[60, 1\]$"),
        (DATA.x, DATA.y.float(), r"labels must be whole numbers, but y holds torch\.float32$"),
    ],
)
def test_rows_and_labels_that_do_not_go_together_are_refused(x, y, sentence):
    with pytest.raises(UserError, match=sentence):
        TrainingData(x, y, 2)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32])
def test_labels_may_be_whole_numbers_of_any_type(dtype):
    data = TrainingData(DATA.x, DATA.y.to(dtype), 2)
    assert data.y.dtype == torch.int64
    assert torch.equal(data.y, DATA.y)


def poisoned(monkeypatch, after: int) -> None:
    """Let every loss from a step on be NaN."""
    original, seen = together.training_objective, []

    def objective(*inputs) -> torch.Tensor:
        seen.append(1)
        return original(*inputs) * (math.nan if len(seen) > after else 1.0)

    monkeypatch.setattr(together, "training_objective", objective)


def test_divergence_is_told_and_the_last_good_weights_are_kept(monkeypatch, tmp_path):
    poisoned(monkeypatch, after=5)
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(DivergedError, match=r"loss nan.*training\.learning_rate .*training\.clip"):
        fit(small_recipe(steps=60), DATA, checkpoint=checkpoint)
    tensors, _ = read_tensors(checkpoint)
    assert tensors
    assert all(torch.isfinite(value).all() for value in tensors.values())
    monkeypatch.undo()
    with pytest.raises(DivergedError, match=r"all 1 restarts.*training\.learning_rate"):
        fit(small_recipe(steps=60), DATA, checkpoint=checkpoint, resume=True)


def test_the_step_that_ruins_the_weights_is_undone():
    recipe = small_recipe(steps=60, learning_rate=1e30)
    with pytest.raises(DivergedError) as raised:
        fit(recipe, DATA)
    start = Trial(recipe, DATA, 0, 0, Fabric(devices=1, accelerator="cpu")).model
    assert raised.value.model is not None
    assert same_weights(raised.value.model, start)
    assert raised.value.model.log_prob(DATA.x).isfinite().all()


def test_a_few_bad_batches_are_passed_over(monkeypatch):
    recipe = small_recipe(steps=19)
    poisoned(monkeypatch, after=2)
    fitted = fit(recipe, DATA)  # 17 bad batches: fewer than would end the run
    assert math.isfinite(fitted.objectives[0])
    assert all(torch.isfinite(value).all() for value in fitted.model.state_dict().values())


def test_a_run_that_never_saw_a_finite_loss_is_no_success(monkeypatch):
    monkeypatch.setattr(Trial, "objective", lambda trial: math.nan)
    with pytest.raises(DivergedError, match="diverged"):
        fit(small_recipe(steps=2), DATA)


def test_a_run_without_one_good_step_is_no_success():
    with pytest.raises(DivergedError, match=r"none of 15 steps .* training\.noise \(now 1e\+38\)"):
        fit(small_recipe(steps=15, noise=1e38), DATA)


def test_on_step_hears_of_every_step():
    heard = []
    fitted = fit(small_recipe(n_init=2, steps=2), DATA, on_step=lambda *at: heard.append(at))
    assert [(restart, step, done) for restart, step, _, done in heard] == [
        (0, 1, 0.25), (0, 2, 0.5), (1, 1, 0.75), (1, 2, 1.0)
    ]  # fmt: skip
    assert [loss for _, _, loss, _ in heard] == [record.loss for record in fitted.history]
    assert fitted.steps == [2, 2]


def norm_at_step_and_in_history(clip: float) -> tuple[float, float]:
    """Return the norm of the gradients that the optimiser steps by, and the one that is recorded."""
    seen = []

    def look(optimizer: torch.optim.Optimizer, *_: object) -> None:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norms = [parameter.grad.norm() for parameter in parameters if parameter.grad is not None]
        seen.append(float(torch.stack(norms).norm()))

    hook = register_optimizer_step_pre_hook(look)
    try:
        (record,) = fit(small_recipe(steps=1, clip=clip, warmup_steps=0), DATA).history
    finally:
        hook.remove()
    assert len(seen) == 1
    return seen[0], record.gradient_norm


def test_gradients_are_clipped_before_the_optimiser_sees_them():
    (free, recorded), (clipped, recorded_too) = map(norm_at_step_and_in_history, (1e9, 1e-3))
    assert free == pytest.approx(recorded, rel=1e-5)
    assert free > 1.0
    assert 0.99e-3 < clipped <= 1e-3 * (1 + 1e-6)
    assert recorded_too == recorded  # what is recorded is the norm before clipping
