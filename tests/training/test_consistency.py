"""Training with altered copies, and on more rows than the start needs."""

from dataclasses import replace

import pytest
import torch
from lightning_fabric import Fabric

from scnf.errors import UserError
from scnf.training import TrainingData, consistency_loss, fit
from scnf.training.batch_part import BatchPart
from scnf.training.foretold import log_of
from scnf.training.trial import Trial
from tests.helpers import blobs, randomize, small_recipe
from tests.training.test_devices import check_same

IMAGES = {"kind": "multiscale", "levels": [{"channel": 2, "keep": 2}], "hidden": 4}


def pictures(rows: int = 40, labelled: int = 8) -> TrainingData:
    """Bright left or right halves."""
    generator = torch.Generator().manual_seed(5)
    y = torch.arange(rows) % 2
    x = torch.randint(0, 60, (rows, 1, 8, 8), generator=generator, dtype=torch.uint8)
    x[y == 0, :, :, :4] += 150
    x[y == 1, :, :, 4:] += 150
    return TrainingData(x, torch.where(torch.arange(rows) < labelled, y, -1), 2, levels=256)


def recipe(**consistency):
    spec = {"weight": 5.0, "start": 0.25, "share": 0.5, **consistency}
    return small_recipe(f=IMAGES, steps=8, clip=1e6, consistency=spec)


def trial(chosen, data=None) -> Trial:
    return Trial(chosen, data or pictures(), 0, 0, Fabric(devices=1, accelerator="cpu"))


def loss_of(chosen: Trial, progress: float) -> torch.Tensor:
    batch = chosen.together.batch(chosen.batches, 0, progress)
    return chosen.together.loss(batch, progress, BatchPart(0, 1))[0]


def test_the_loss_of_a_step_is_likelihood_and_consistency():
    """From the batch and its copies alone, the loss is what the formula says."""
    with_copies, without = trial(recipe()), trial(small_recipe(f=IMAGES, steps=8, clip=1e6))
    spec = with_copies.spec.consistency
    assert spec is not None
    x, y, _ = with_copies.batches(0)
    copies, places = with_copies.batches.copies(0, spec)
    assert len(copies) == 2 + 6  # half of 4 labelled and of 12 others
    with torch.no_grad():
        of_rows, of_copies = with_copies.model(x)[places], with_copies.model(copies)
        expected = 5.0 * consistency_loss(of_rows / spec.temperature, of_copies, y[places], spec.temperature).mean()
        # Half of the way from where it starts to its full weight.
        assert loss_of(with_copies, 0.3) - loss_of(without, 0.3) == pytest.approx(float(expected) / 2, rel=1e-4)
        assert loss_of(with_copies, 0.25) == loss_of(without, 0.25)


def test_copies_are_of_the_rows_they_say():
    still = {"shift": 0, "rotate": 0, "scale": 0, "shear": 0}
    chosen = trial(recipe(augment=still))
    assert chosen.spec.consistency is not None
    x, _, _ = chosen.batches(3)
    copies, places = chosen.batches.copies(3, chosen.spec.consistency)
    assert torch.equal((copies * 256).floor(), (x[places] * 256).floor())
    assert not torch.equal(copies, x[places])  # noise of their own


def test_two_processes_share_the_copies():
    check_same(fit(recipe(), pictures(), devices=2), fit(recipe(), pictures()), tolerance=1e-5)


@pytest.mark.parametrize("data", [blobs(), replace(pictures(), levels=None, x=pictures().x.float())])
def test_rows_that_cannot_be_altered_are_refused(data):
    chosen = recipe() if len(data.shape) == 3 else small_recipe(consistency={})
    with pytest.raises(UserError, match=r"training\.consistency alters images of whole numbers"):
        trial(chosen, data)


def test_an_excerpt_keeps_all_labels_and_spreads_the_rest():
    data = blobs(rows=100, labelled=10)
    part = data.excerpt(30)
    assert len(part.x) == 40
    assert torch.equal(part.x[:10], data.x[:10])
    assert torch.equal(part.x[10:], data.x[10::3])
    assert data.excerpt(90) is data


def test_the_objective_of_an_excerpt_counts_hidden_rows_in_full(monkeypatch):
    """Rows that are all alike have the same objective in an excerpt as in full."""
    data = blobs(rows=100, labelled=10)
    data = replace(data, x=torch.where(data.y[:, None] >= 0, data.x, data.x[50]))
    whole = trial(small_recipe(), data).objective()
    monkeypatch.setattr("scnf.training.mean_objective._ROWS", 7)
    assert trial(small_recipe(), data).objective() == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("guess_share", [0.2, 0.5])
def test_what_the_graph_guesses_is_taught_too(guess_share):
    """Alone, as long as it stands in for the posterior, and then beside what the model itself says."""
    chosen = recipe()
    chosen = chosen.model_copy(update={"training": chosen.training.model_copy(update={"guess": guess_share})})
    guessing, plain = trial(chosen), trial(small_recipe(f=IMAGES, steps=8, clip=1e6, guess=guess_share))
    randomize(guessing.model)  # at its start it tells no classes apart
    plain.model.load_state_dict(guessing.model.state_dict())
    spec = guessing.spec.consistency
    assert spec is not None
    (x, y, _), (copies, places) = guessing.batches(0), guessing.batches.copies(0, spec)
    with torch.no_grad():
        shares = guessing.foretold.by_graph()
        assert shares is not None
        guess = log_of(shares, guessing.batches.rows(0))
        of_rows, of_copies = guessing.model(x), guessing.model(copies)
        teacher = guess if guess_share == 0.5 else of_rows / spec.temperature + guess
        # The graph knows what the row itself does not: rows are taught like their copies.
        both, twice = torch.cat([of_rows, of_copies]), torch.cat([torch.arange(len(x)), places])
        expected = 5.0 / 2 * consistency_loss(teacher[twice], both, y[twice], spec.temperature).mean()
        assert loss_of(guessing, 0.3) - loss_of(plain, 0.3) == pytest.approx(float(expected), rel=1e-4)
