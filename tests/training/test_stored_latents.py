"""The part of a run in which h learns alone."""

import pytest
import torch
from lightning_fabric import Fabric

from scnf.model import Latents
from scnf.nets import MLP, NO_LIMIT, GlowNet
from scnf.training import TrainingData, h_alone, schedule, together
from scnf.training import trial as trial_module
from scnf.training.batch_part import BatchPart
from scnf.training.drawn import drawn_for
from scnf.training.h_alone import HAlone
from scnf.training.losses import marginal_nll
from scnf.training.schedule import Phase
from scnf.training.stored_latents import StoredRows
from scnf.training.trial import Trial
from tests.helpers import blobs, randomize, small_recipe

DATA = blobs(rows=80, classes=3, labelled=12)


def trial(data: TrainingData = DATA, **training) -> Trial:
    return Trial(small_recipe(**training), data, 0, 0, Fabric(accelerator="cpu", devices=1))


def weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def taken(monkeypatch, is_better: bool = True) -> None:
    """Let every new h be taken, or put back, whatever it says."""
    monkeypatch.setattr(HAlone, "is_better", lambda alone: is_better)


def test_f_stays_as_its_average_was_and_h_goes_on(monkeypatch):
    taken(monkeypatch)
    trained = trial(steps=8, h_alone=0.5, ema=0.9)
    for _ in range(4):
        trained.take_step()
    assert trained.phase.kind == "together"
    with trained.average.applied():
        f, h = weights(trained.model.flow), weights(trained.model.conditional)
    trained.run()
    assert trained.phase_began == 4
    with trained.average.applied():
        assert torch.equal(weights(trained.model.flow), f)
        assert not torch.equal(weights(trained.model.conditional), h)


def test_an_h_that_cannot_learn_is_not_left_alone():
    with pytest.raises(ValueError, match=r"training\.h_alone needs an h that learns"):
        small_recipe(h={"kind": "fixed-gaussians"}, h_alone=0.5)


@pytest.mark.parametrize("guess", [0.7, 0.0])
@pytest.mark.parametrize("h", [{"kind": "gaussian"}, {"kind": "ffjord", "hidden": 8, "solver_steps": 2}])
def test_any_h_that_learns_may_be_left_alone(monkeypatch, h, guess):
    taken(monkeypatch)
    alone = trial(h=h, steps=160, h_alone=0.5, guess=guess, learning_rate=0.03)
    alone.run()
    log_joint = alone.model.log_joint(DATA.x)
    assert float((log_joint.argmax(1) != torch.arange(80) % 3).float().mean()) < 0.1


def test_glow_nets_of_an_f_that_learns_have_a_limit_from_the_start():
    x = torch.randint(0, 4, (40, 1, 4, 4), dtype=torch.uint8)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4, "net": "glow"}
    trained = trial(TrainingData(x, torch.arange(40) % 3, 3, levels=4), f=f)
    assert {float(net.limit) for net in trained.model.flow.modules() if isinstance(net, GlowNet)} == {10.0}
    assert limits(trained) == {NO_LIMIT}  # those of h


def test_h_alone_makes_its_rows_more_likely():
    alone, objectives = trial(steps=240, h_alone=0.8), {}
    alone.run(lambda now: objectives.update({now.step: now.objective()}) if now.step == 48 else None)
    assert alone.phase_began == 48
    assert alone.taken == [True]
    assert alone.objective() < objectives[48] - 0.03


def test_every_row_has_its_turn_with_latents_of_its_own():
    x = torch.randint(0, 4, (1200, 1, 4, 4), dtype=torch.uint8)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4}
    data = TrainingData(x, torch.arange(1200) % 3, 3, levels=4)
    drawn = trial(data, f=f, h_alone=0.5)
    randomize(drawn.model)
    drawn._enter(Phase("h alone", 0.0))
    assert drawn.alone is not None
    seen = [drawn.alone.stored(step) for step in range(20)]
    # 1,200 rows are two steps of 512; which are left out changes from one draw to the next, of which there are three.
    assert len(torch.cat([rows for rows, *_ in seen[:2]]).unique()) == 1024
    assert len({tuple(rows.tolist()) for rows, *_ in seen[:6]}) == 2
    assert len({tuple(rows.tolist()) for rows, *_ in seen}) == 6
    for rows, latents in seen:
        decoded = drawn.model.decode(latents.z_f, torch.zeros(len(rows), 8))
        again = drawn.model.encode(decoded)
        torch.testing.assert_close(again.z_f, latents.z_f, rtol=1e-3, atol=1e-3)


def with_latents() -> tuple[Trial, torch.Tensor, Latents]:
    """A trial whose f stands, with the rows of its first step and their latents."""
    standing = trial(h_alone=0.5)
    randomize(standing.model)
    standing._enter(Phase("h alone", 0.0))
    assert standing.alone is not None
    return standing, *standing.alone.stored(0)


def test_stored_latents_tell_the_same_log_joint():
    stored, rows, latents = with_latents()
    torch.testing.assert_close(stored.model.log_joint_of_latents(latents), stored.model.log_joint(DATA.x[rows]))


@pytest.mark.parametrize(("done", "steps", "is_led"), [(0.16, 300, True), (0.17, 299, True), (0.17, 300, False)])
def test_an_h_is_led_for_a_share_of_the_time_and_some_steps_at_least(done, steps, is_led):
    assert h_alone.is_led(Phase("h alone", done), steps) == is_led


def test_without_a_graph_the_h_before_tells_the_classes_first(monkeypatch):
    monkeypatch.setattr(h_alone, "_STEPS_LED", 2)
    trained = trial(steps=12, h_alone=0.5, ema=0.0)
    for _ in range(6):
        trained.take_step()
    said = trained.model.log_posterior(DATA.x).detach()

    original, seen = HAlone.log_shares, []

    def log_shares(alone: HAlone, rows: torch.Tensor, *now) -> torch.Tensor:
        own = alone.model.log_posterior(DATA.x[rows]).detach()
        seen.append((original(alone, rows, *now).log_softmax(1), said[rows], own))
        return seen[-1][0]

    monkeypatch.setattr(HAlone, "log_shares", log_shares)
    for _ in range(3):
        trained.take_step()
    (first, of_old, of_new), second, (last, of_old_at_last, own) = seen
    torch.testing.assert_close(first, of_old)
    assert not torch.allclose(first, of_new)
    torch.testing.assert_close(second[0], second[1])
    torch.testing.assert_close(last, own)  # two steps are over, and more than a sixth of the time
    assert not torch.allclose(last, of_old_at_last)


def test_a_graph_tells_the_classes_until_the_posterior_does_beside_it():
    standing = trial(h_alone=0.5, guess=0.7)
    randomize(standing.model)
    standing.foretold.guess = torch.randn(80, 3).softmax(1)
    standing._enter(Phase("h alone", 0.0))
    assert standing.alone is not None
    leading, beside = (standing.alone.log_shares(torch.arange(80), True, done) for done in (0.6, 0.8))
    torch.testing.assert_close(leading, standing.foretold.guess.log())
    own = standing.model.log_posterior(DATA.x).detach()
    torch.testing.assert_close((beside - leading).log_softmax(1), own)


def limits(trained: Trial) -> set[float]:
    return {float(net.limit) for net in trained.model.modules() if isinstance(net, MLP) and net.has_limit}


def test_nets_of_an_h_that_is_alone_see_nothing_beyond_a_limit_and_all_others_see_all(monkeypatch):
    taken(monkeypatch)
    trained = trial(steps=8, h_alone=0.5)
    trained.take_step()
    assert limits(trained) == {NO_LIMIT}
    trained.run()
    assert limits(trained) == {10.0}


def test_drawn_classes_have_the_gradient_of_the_marginal_likelihood():
    """In the mean over many draws, for each of which the step stands."""
    guessing, rows, latents = with_latents()
    h = list(guessing.model.conditional.parameters())
    exact = torch.autograd.grad(
        marginal_nll(guessing.model.log_joint_of_latents(latents), DATA.y[rows]).mean(), h, allow_unused=True
    )
    total = [torch.zeros_like(parameter) for parameter in h]
    assert guessing.alone is not None
    for step in range(400):
        loss = guessing.alone.loss(step, Phase("h alone", 0.9), 300, 0.6, BatchPart(0, 1))
        for sum_, part in zip(total, torch.autograd.grad(loss, h, allow_unused=True), strict=True):
            if part is not None:
                sum_ += part / 400
    one, other = (torch.cat([part.flatten() for part in parts if part is not None]) for parts in (exact, total))
    assert (one - other).norm() < 0.1 * one.norm()


def test_a_row_that_is_far_out_does_not_lead_all_others():
    """Its gradient, which would be all that counts, is small beside that of the other rows."""
    standing, rows, latents = with_latents()
    alone = standing.alone
    assert alone is not None
    stored = alone.stored
    z_f = latents.z_f.clone()
    z_f[3] *= 1e5
    h = list(standing.model.conditional.parameters())

    def gradient(z_f: torch.Tensor) -> torch.Tensor:
        group = next(iter(stored._stored))
        stored._stored[group] = StoredRows(rows, latents._replace(z_f=z_f))
        loss = alone.loss(0, Phase("h alone", 0.9), 300, 0.6, BatchPart(0, 1))
        found = torch.autograd.grad(loss, h, allow_unused=True)
        return torch.cat([part.flatten() for part in found if part is not None])

    usual = gradient(latents.z_f).norm()
    with_one_far_out = gradient(z_f).norm()
    alone._far_out, alone._limit = 1e12, 1e12
    assert with_one_far_out < 3 * usual
    assert gradient(z_f).norm() > 1e6 * usual
    torch.testing.assert_close(gradient(latents.z_f).norm(), usual)  # the others count as they did


def test_the_posterior_of_all_rows_has_no_noise_in_it():
    """And is that of a run that was stopped and resumed, which has nothing stored at first."""
    x = torch.randint(0, 4, (1200, 1, 4, 4), dtype=torch.uint8)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4}
    drawn = trial(TrainingData(x, torch.arange(1200) % 3, 3, levels=4), f=f, h_alone=0.5)
    randomize(drawn.model)
    drawn._enter(Phase("h alone", 0.0))
    assert drawn.alone is not None
    stored = drawn.alone.stored
    posterior = stored.posterior(drawn.model)
    torch.testing.assert_close(posterior, drawn.model.log_posterior((x + 0.5) / 4).detach().exp())
    for step in range(6):  # three draws of noise
        stored(step)
    assert torch.equal(stored.posterior(drawn.model), posterior)


def test_in_a_second_round_f_goes_on_by_what_the_h_that_was_alone_says(monkeypatch):
    taken(monkeypatch)
    trained = trial(steps=16, h_alone=0.5, rounds=2, ema=0.9, labelled_weight=0.5)
    for _ in range(8):
        trained.take_step()
    with trained.average.applied():
        said, f = trained.model.log_posterior(DATA.x).detach().exp(), weights(trained.model.flow)
        h = weights(trained.model.conditional)
    trained._enter(Phase("together", 0.0, 1))
    assert trained.foretold.said is not None
    torch.testing.assert_close(trained.foretold.said, said)
    assert torch.equal(weights(trained.model.flow), f)
    assert torch.equal(weights(trained.model.conditional), h)
    *_, row_weights = trained.batches(8)
    torch.testing.assert_close(row_weights, torch.full((16,), 1 / 16), atol=0.07, rtol=0)
    assert trained.batches.labelled_weight(0.6) == pytest.approx(12 / 80)
    trained.take_step()
    assert not torch.equal(weights(trained.model.flow), f)
    trained.run()
    torch.testing.assert_close(trained.foretold.said, said)  # and leads the next h
    assert trained.phase[::2] == ("h alone", 1)
    assert trained.taken == [True, True]


@pytest.mark.parametrize("graph", [0.0, 0.4])
def test_a_new_h_that_is_worse_than_the_one_before_changes_nothing(monkeypatch, graph):
    taken(monkeypatch, False)
    trained = trial(steps=16, h_alone=0.5, ema=0.9, guess=graph, labelled_weight=0.5)
    for _ in range(8):
        trained.take_step()
    with trained.average.applied():
        before = {name: value.clone() for name, value in trained.model.state_dict().items()}
    trained.run()
    with trained.average.applied():
        after = trained.model.state_dict()
    assert trained.step == 16
    assert trained.taken == [False]
    for name, value in before.items():
        assert torch.equal(after[name], value), name
    assert trained.foretold.said is None
    assert trained.batches.labelled_weight(0.6) == 0.5


def test_after_a_worse_h_the_next_round_goes_on_as_the_first(monkeypatch):
    taken(monkeypatch, False)
    trained, seen = trial(steps=16, h_alone=0.5, rounds=2, labelled_weight=0.5, ema=0.9), {}

    def look(now: Trial) -> None:
        with now.average.applied():
            seen[now.step] = weights(now.model.flow), weights(now.model.conditional)

    monkeypatch.setattr(trial_module, "let_h_learn", lambda *now, alone: None if alone else look(trained))
    trained.run(look)
    # Each time h was alone, f and h were there again as they had been before.
    assert trained.taken == [False, False]
    for before, after in ((4, 8), (12, 16)):
        assert all(map(torch.equal, seen[before], seen[after]))
    assert not any(map(torch.equal, seen[4], seen[12]))
    assert trained.foretold.said is None
    assert trained.batches.labelled_weight(0.6) == 0.5


def test_the_better_h_is_the_one_by_which_equation_1_is_less():
    standing = trial(h={"kind": "gaussian", "covariance": "full"}, h_alone=0.5)
    standing._enter(Phase("h alone", 0.0))
    alone = standing.alone
    assert alone is not None
    alone.put_back()
    assert not alone.is_better()  # the same is no better
    for shift in (0.5, -0.1):
        with torch.no_grad():
            standing.model.conditional.mean.add_(shift)
        objective = float(marginal_nll(standing.model.log_joint(DATA.x).detach(), DATA.y).mean())
        assert alone._nll(standing.model, torch.arange(80)) == pytest.approx(objective, rel=1e-5)
        assert not alone.is_better()
    alone.before.conditional.load_state_dict(standing.model.conditional.state_dict())
    with torch.no_grad():
        standing.model.conditional.mean.add_(-0.4)
    assert alone.is_better()


@pytest.mark.parametrize("worst", [float("nan"), float("inf"), 1e30])
def test_an_h_of_which_a_row_has_no_likelihood_is_the_worse_one(worst):
    standing, *_ = with_latents()
    alone = standing.alone
    assert alone is not None
    alone.put_back()
    original = alone.stored.log_joint
    for bad, is_better in ((standing.model, False), (alone.before, True)):

        def log_joint(model, rows, bad=bad):
            found = original(model, rows)
            return found.index_fill(0, torch.tensor([2]), -worst) if model is bad else found

        alone.stored.log_joint = log_joint
        assert alone.is_better() == is_better


def test_a_new_h_that_had_no_time_is_put_back():
    trained, seen = trial(steps=400, h_alone=1 / 400, rounds=1, ema=0.9), {}

    def look(now: Trial) -> None:
        with now.average.applied():
            seen[now.step] = weights(now.model.conditional)

    trained.run(look)
    look(trained)
    assert trained.phase.kind == "h alone"
    assert torch.equal(seen[400], seen[399])
    assert limits(trained) == {NO_LIMIT}


def test_what_was_said_stands_in_for_the_posterior(monkeypatch):
    """The gradient is that of the expected joint likelihood under it, whatever the model says by now."""
    trained = trial(steps=16, h_alone=0.5, rounds=2)
    trained._enter(Phase("together", 0.0, 1))
    trained.foretold.said = torch.rand(80, 3, generator=torch.Generator().manual_seed(0)).softmax(1)
    batch = trained.together.batch(trained.batches, 0, 0.6)
    loss, _ = trained.together.loss(batch, 0.6, BatchPart(0, 1))
    x, y, row_weights, *_ = batch
    shares = trained.foretold.said[trained.batches.rows(0)]
    shares = torch.where(y[:, None] >= 0, torch.nn.functional.one_hot(y.clamp(min=0), 3).float(), shares)
    expected = -(row_weights[:, None] * shares * trained.model.log_joint(x)).sum()
    torch.testing.assert_close(loss, expected)


def test_labels_that_led_lead_no_longer_in_a_second_round(monkeypatch):
    taken(monkeypatch)
    trained = trial(steps=16, h_alone=0.5, rounds=2, labelled_weight_start=0.9, labelled_decay=0.9)
    assert trained.batches.labelled_weight(0.5) > 0.3
    trained._enter(Phase("h alone", 0.0))
    trained._enter(Phase("together", 0.0, 1))
    assert trained.batches.labelled_weight(0.5) == pytest.approx(12 / 80)


@pytest.mark.parametrize("labelled", [12, 80], ids=["few", "all"])
def test_a_run_of_some_seconds_has_its_rounds(monkeypatch, labelled):
    taken(monkeypatch)
    monkeypatch.setattr(trial_module, "_STEPS_OF_PACE", 10)
    monkeypatch.setattr(schedule, "_STEPS_OF_A_ROUND", 30)
    data = blobs(rows=80, classes=3, labelled=labelled)
    spec = {"steps": 1_000_000, "max_minutes": 0.02, "h_alone": 0.5, "rounds": 2}
    timed = Trial(small_recipe(**spec), data, 0, 0, Fabric(accelerator="cpu", devices=1), seconds=1.2)
    seen = []
    timed.run(lambda trained: seen.append((trained.phase.kind, trained.phase.round, trained.foretold.said is not None)))
    order, some = list(dict.fromkeys(seen)), labelled < 80
    assert order == [("together", 0, False), ("h alone", 0, False), ("together", 1, some), ("h alone", 1, some)]


def test_a_run_that_is_too_short_for_a_round_has_none(monkeypatch):
    monkeypatch.setattr(trial_module, "_STEPS_OF_PACE", 10)
    monkeypatch.setattr(schedule, "_STEPS_OF_A_ROUND", 1_000_000)
    spec = {"steps": 1_000_000, "max_minutes": 0.02, "h_alone": 0.5, "rounds": 2}
    timed = Trial(small_recipe(**spec), DATA, 0, 0, Fabric(accelerator="cpu", devices=1), seconds=1.2)
    seen = []
    timed.run(lambda trained: seen.append(trained.phase.kind))
    assert len(seen) > 10
    assert set(seen) == {"together"}


@pytest.mark.parametrize("kind", ["together", "h alone"])
@pytest.mark.parametrize("first", [0, 9], ids=["at-once", "from-h-alone"])
def test_a_run_may_leap_over_parts(first, kind, monkeypatch):
    """As one does whose time is nearly over."""
    taken(monkeypatch)
    trained = trial(steps=16, h_alone=0.5, rounds=2)
    monkeypatch.setattr(trial_module, "phase_of", lambda *now: Phase("h alone", 0.1, 0))
    for _ in range(first):
        trained.take_step()
    monkeypatch.setattr(trial_module, "phase_of", lambda *now: Phase(kind, 0.1, 1))
    trained.take_step()
    assert (trained.foretold.said is None) == (first == 0)
    assert (trained.alone is None) == (kind == "together")


def test_a_class_is_drawn_by_its_share():
    shares = torch.tensor([0.5, 0.3, 0.2]).log().expand(10_000, 3)
    hidden = torch.full((10_000,), -1)
    hidden[:5] = 2
    drawn = drawn_for(BatchPart(0, 1), shares, hidden, 10_000, (0, 0))
    assert drawn[:5].tolist() == [2] * 5
    torch.testing.assert_close(drawn[5:].bincount() / 9995, torch.tensor([0.5, 0.3, 0.2]), atol=0.02, rtol=0)
    # Two processes draw, each for its own rows, what one draws.
    assert torch.equal(drawn_for(BatchPart(1, 2), shares[1::2], hidden[1::2], 10_000, (0, 0)), drawn[1::2])


def test_classes_are_drawn_where_that_saves_h_enough(monkeypatch):
    asked = []
    guessing = trial(steps=8, guess=1.0)
    whole = guessing.together.module
    monkeypatch.setattr(guessing.together, "module", lambda x, known=None: (asked.append(known), whole(x, known))[1])
    guessing.take_step()
    monkeypatch.setattr(together, "_PAIRS_WORTH_A_PASS", 1)
    guessing.take_step()
    assert asked[0] is None
    assert len(asked[1]) == 16
    assert bool((asked[1] >= 0).all())
