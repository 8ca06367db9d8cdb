"""Two processes that share every batch take the steps of one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed

from scnf.errors import UserError
from scnf.tensorfile import read_tensors
from scnf.training import DivergedError, Fitted, TrainingData, devices, fit
from scnf.training.h_alone import HAlone
from tests.helpers import blobs, same_weights, small_recipe

DATA = blobs()
RECIPE = small_recipe(
    steps=8, batch_size=15, noise=0.1, labelled_weight_start=0.9, clf_weight=0.3, clip=0.5, ema=0.9, weight_decay=0.1
)


def check_same(two: Fitted, one: Fitted, tolerance: float = 1e-6) -> None:
    """Check that weights (averaged) and curve agree up to rounding."""
    for name, value in one.model.state_dict().items():
        torch.testing.assert_close(two.model.state_dict()[name], value, rtol=tolerance, atol=tolerance, msg=name)
    assert two.objectives == pytest.approx(one.objectives, rel=1e-5)
    for a, b in zip(two.history, one.history, strict=True):
        told = {key: value for key, value in vars(b).items() if value is not None}
        assert {key: vars(a)[key] for key in told} == pytest.approx(told, rel=1e-4)


def settings() -> tuple[dict[str, str], int]:
    return {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}, torch.get_num_threads()


@pytest.fixture(autouse=True)
def _leaves_no_trace():
    before = settings()
    yield
    assert settings() == before
    assert not distributed.is_initialized()


@pytest.fixture(scope="module")
def one() -> Fitted:
    """The fit of one process."""
    return fit(RECIPE, DATA)


def test_gradients_are_clipped_in_what_follows(one):
    assert min(record.gradient_norm for record in one.history) > RECIPE.training.clip


def test_two_processes_take_the_steps_of_one(one):
    heard = []
    two = fit(RECIPE, DATA, devices=2, on_step=lambda *at: heard.append(at))
    check_same(two, one)
    assert [step for _, step, _, _ in heard] == list(range(1, 9))
    assert two.steps == [8]


@pytest.mark.parametrize(
    ("f", "h", "training"),
    [
        ({"kind": "ffjord", "hidden": 8, "solver_steps": 2, "adjoint": True}, {"kind": "gaussian"}, {"n_init": 2}),
        (None, {"kind": "ffjord", "hidden": 8, "solver_steps": 2}, {"objective": "em", "optimizer": "adamax"}),
        # Noise, or h would begin where gradients are zero up to rounding, and Adam goes by their signs at first.
        (None, None, {"h_alone": 0.6, "guess": 0.6, "noise": 0.1}),
        (None, None, {"h_alone": 0.6, "noise": 0.1}),
        (None, None, {"h_alone": 0.5, "noise": 0.1, "rounds": 2}),
    ],
    ids=["adjoint-gaussian", "em-adamax", "h-alone", "h-alone-without-a-graph", "rounds"],
)
def test_other_recipes_do_so_as_well(monkeypatch, f, h, training):
    monkeypatch.setattr(HAlone, "is_better", lambda alone: True)  # or what it learned would not be seen; one decides
    recipe = small_recipe(f, h, steps=5, **training)
    check_same(fit(recipe, DATA, devices=2), fit(recipe, DATA), tolerance=1e-5)


def test_images_of_integers_and_three_processes():
    x = torch.randint(0, 17, (40, 1, 4, 4), dtype=torch.uint8)
    data = TrainingData(x, torch.where(torch.arange(40) < 20, torch.arange(40) % 2, -1), 2, levels=17)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4, "split_prior": True}
    recipe = small_recipe(f=f, steps=4)
    check_same(fit(recipe, data, devices=3), fit(recipe, data))


def test_muon_and_what_a_graph_guesses_are_shared_as_well():
    y = torch.arange(40) % 2
    x = torch.randint(0, 9, (40, 1, 4, 4)) + 8 * y[:, None, None, None]
    data = TrainingData(x.to(torch.uint8), torch.where(torch.arange(40) < 10, y, -1), 2, levels=17)
    f = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}], "hidden": 4, "net": "glow"}
    # Of five steps four go by the graph alone, the last by graph and posterior.
    recipe = small_recipe(f=f, steps=5, batch_size=15, optimizer="muon", guess=0.8)
    one = fit(recipe, data)
    check_same(fit(recipe, data, devices=2), one, tolerance=1e-5)
    for without in ({"guess": 0.0}, {"optimizer": "adam"}):
        other = small_recipe(f=f, steps=5, batch_size=15, **{"optimizer": "muon", "guess": 0.8, **without})
        assert not same_weights(fit(other, data).model, one.model)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_run_goes_on_with_more_or_fewer_devices(tmp_path, one, before, after):
    checkpoint = tmp_path / "checkpoint.safetensors"

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        if step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(RECIPE, DATA, checkpoint=checkpoint, on_step=on_step, devices=before)
    assert read_tensors(checkpoint)[1]["trial"]["step"] == 4
    heard = []
    on_step = lambda *at: heard.append(at[1])  # noqa: E731
    check_same(fit(RECIPE, DATA, checkpoint=checkpoint, resume=True, on_step=on_step, devices=after), one)
    assert heard == [5, 6, 7, 8]
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint.name]


def test_all_go_by_the_clock_of_the_first():
    recipe = small_recipe(steps=10**6, n_init=2, max_minutes=0.02)
    fitted = fit(recipe, DATA, devices=2)
    assert 1 <= len(fitted.steps) <= 2  # on a busy machine the first restart may take all of the time
    assert all(0 < steps < 10**6 for steps in fitted.steps)
    assert fitted.seconds > 0.02 * 60


def test_divergence_is_told_once(capfd):
    with pytest.raises(DivergedError, match="20 batches in a row"):
        fit(small_recipe(steps=40, learning_rate=1e30), DATA, devices=2)
    assert capfd.readouterr().err == ""


def worker_that(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let the other process do something of its own after ``steps`` losses."""
    code = """
from scnf.training import together, worker
original, steps = together.training_objective, []
def objective(*inputs):
    steps.append(1)
    loss = original(*inputs)
    {}
    return loss
together.training_objective = objective
worker.main()
"""
    monkeypatch.setattr(devices, "_WORKER", code.format("\n    ".join(lines)))


def test_a_bad_part_of_a_batch_is_passed_over_by_all(monkeypatch):
    worker_that(monkeypatch, "if len(steps) in (3, 4): loss = loss * float('nan')")
    fitted = fit(RECIPE, DATA, devices=2)
    assert [record.step for record in fitted.history] == [1, 2, 5, 6, 7, 8]
    assert all(torch.isfinite(value).all() for value in fitted.model.state_dict().values())


def test_the_end_of_another_process_is_told(monkeypatch):
    worker_that(monkeypatch, "if len(steps) == 3: import os; os._exit(7)")
    with pytest.raises(UserError, match="process 2 of 2 ended before the run did, with exit code 7"):
        fit(RECIPE, DATA, devices=2)


def test_what_another_process_alone_cannot_do_is_told(monkeypatch, capfd):
    worker_that(monkeypatch, "from scnf.errors import UserError", "raise UserError('it has no rows')")
    with pytest.raises(UserError, match="process 2 of 2 ended"):
        fit(RECIPE, DATA, devices=2)
    assert "Error in process 2 of 2: it has no rows\n" in capfd.readouterr().err


def test_a_process_that_does_not_start_is_told(monkeypatch):
    monkeypatch.setattr(devices, "_WORKER", "raise SystemExit(5)")
    with pytest.raises(UserError, match="exit code 5"):
        fit(RECIPE, DATA, devices=2)


@pytest.mark.parametrize(("number", "named"), [(0, "at least 1, got 0"), (3, "3 devices cannot share a batch of 2")])
def test_devices_that_cannot_be_are_refused(capfd, number, named):
    with pytest.raises(UserError, match=named):
        fit(small_recipe(batch_size=2), DATA, devices=number)
    assert capfd.readouterr().err == ""


def test_more_devices_than_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match="2 devices were asked for, but there are 1 GPUs"):
        fit(RECIPE, DATA, devices=2)


def test_a_script_needs_no_main_guard(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import scnf\n"
        "data = scnf.TrainingData.of(scnf.load_split('moons'))\n"
        "print(scnf.fit(scnf.load_recipe('toy', {'training.steps': 1}), data, devices=2).steps)\n"
    )
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("[1]\n", "")
