import pytest
import torch
from lightning_fabric import Fabric

from scnf.training import fit
from scnf.training.snapshot import read_snapshot
from scnf.training.trial import Trial
from tests.helpers import blobs, same_weights, small_recipe

RECIPE = small_recipe(steps=6, ema=0.9)


def stop_at(last_step: int):
    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        if step == last_step:
            raise KeyboardInterrupt

    return on_step


def test_a_checkpoint_gives_the_averaged_model_of_its_moment(tmp_path):
    data, checkpoint = blobs(), tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fit(RECIPE, data, checkpoint=checkpoint, on_step=stop_at(4))
    snapshot = read_snapshot(checkpoint, RECIPE.model, data.shape, data.classes)
    assert snapshot is not None
    assert (snapshot.restart, snapshot.step) == (0, 4)
    assert snapshot.seconds > 0
    assert not snapshot.model.training

    trial = Trial(RECIPE, data, 0, 0, Fabric(accelerator="cpu", devices=1))
    for _ in range(4):
        trial.take_step()
    assert not same_weights(snapshot.model, trial.model)
    with trial.average.applied():
        assert same_weights(snapshot.model, trial.model)
    assert torch.isfinite(snapshot.model.log_joint(data.x)).all()


def test_a_finished_run_is_at_no_moment(tmp_path):
    data, checkpoint = blobs(), tmp_path / "checkpoint"
    fit(RECIPE, data, checkpoint=checkpoint)
    assert read_snapshot(checkpoint, RECIPE.model, data.shape, data.classes) is None
