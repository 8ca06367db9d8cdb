"""Curves of a fit: copies of its checkpoint on the way, measured when it is over."""

import math
import shutil

import pytest

from scnf import load_recipe, load_split
from scnf.experiments.curves import Snapshots, curves_of
from scnf.experiments.fitting import fit_split
from tests.helpers import tiny_digits_recipe


def test_copies_are_taken_at_even_shares_and_outlast_a_kill(tmp_path):
    checkpoint = tmp_path / "mnist-0.abc.checkpoint"
    snapshots = Snapshots(checkpoint)
    snapshots.take(0.3)  # there is no checkpoint yet
    for share in (0.31, 0.32, 0.5):
        checkpoint.write_text(str(share))
        snapshots.take(share)
    snapshots = Snapshots(checkpoint)
    for share in (0.55, 0.6, 0.99, 1.0):
        checkpoint.write_text(str(share))
        snapshots.take(share)
    assert [path.name.rpartition("-")[2] for path in snapshots.paths()] == ["03", "06", "07", "11"]
    assert [path.read_text() for path in snapshots.paths()] == ["0.31", "0.5", "0.6", "0.99"]
    assert len(list(tmp_path.iterdir())) == 5


def test_curves_tell_loss_and_test_metrics_by_the_minute(tmp_path):
    split = load_split("digits")
    recipe = load_recipe(tiny_digits_recipe(tmp_path), {"training.steps": 6, "training.n_init": 1})
    checkpoint = tmp_path / "checkpoint"

    def stop(share: float) -> None:
        if share >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_split(recipe, split, stop, checkpoint)
    shutil.copy(checkpoint, tmp_path / "checkpoint-06")
    fitted, trained = fit_split(recipe, split, lambda share: None, checkpoint)
    curves = curves_of(Snapshots(checkpoint), fitted, trained, split)

    points, losses = curves["test_curve"], curves["loss_curve"]
    assert [point["step"] for point in points] == [3, 6]
    assert 0 < points[0]["minutes"] < points[1]["minutes"] <= fitted.seconds / 60
    assert points[0]["bits_per_dim"] != points[1]["bits_per_dim"]
    assert len(losses) == 6
    assert losses[2][0] == pytest.approx(points[0]["minutes"], abs=1e-4)
    assert losses[5][1] == pytest.approx(fitted.history[5].loss + 64 * math.log(17), abs=1e-3)
