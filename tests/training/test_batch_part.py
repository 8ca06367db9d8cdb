"""Batches that go through the model part by part."""

import pytest
import torch

from scnf.training import fit, together
from scnf.training.batch_part import BatchPart
from scnf.training.h_alone import HAlone
from tests.helpers import blobs, small_recipe
from tests.training.test_consistency import IMAGES, pictures
from tests.training.test_devices import DATA, RECIPE, check_same

CONSISTENCY = {"weight": 5.0, "start": 0.25, "share": 0.5}


@pytest.mark.parametrize(("rows", "size", "count"), [(256, 64, 4), (256, None, 1), (15, 4, 4), (3, 2, 2), (7, 100, 1)])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_parts_are_the_whole_batch_and_none_is_too_large(rows, size, count, processes):
    batch = torch.arange(rows)
    parts = [part for rank in range(processes) for part in BatchPart(rank, processes).split(rows, size)]
    assert torch.equal(torch.cat([part.of(batch) for part in parts]).sort().values, batch)
    sizes = [len(part.of(batch)) for part in parts]
    assert 0 < min(sizes) <= max(sizes) <= (size or rows)
    if processes == 1:
        assert len(parts) == count
    # Labelled rows stand first: of any so many first rows no part has two more than another.
    of_first = [int((part.of(batch) < rows // 3).sum()) for part in parts]
    assert max(of_first) - min(of_first) <= 1


def test_places_are_those_within_a_part():
    batch, places = torch.arange(10) * 7, torch.tensor([0, 2, 5, 8])
    for part in BatchPart(0, 1).split(10, 4):
        own, within = part.places(places)
        assert torch.equal(part.of(batch)[within], batch[places[own]])


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("part_size", [2, 4, 100])
def test_a_batch_in_parts_takes_the_steps_of_the_whole(part_size, devices):
    training = RECIPE.training.model_copy(update={"part_size": part_size})
    in_parts = fit(RECIPE.model_copy(update={"training": training}), DATA, devices=devices)
    check_same(in_parts, fit(RECIPE, DATA))


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    "training",
    [
        {"consistency": CONSISTENCY, "clip": 1e6},
        {"consistency": CONSISTENCY, "clip": 1e6, "guess": 0.5},
        {"guess": 0.8, "optimizer": "muon"},
        {"h_alone": 0.4, "guess": 0.8},
    ],
    ids=["consistency", "consistency-guess", "guess-muon", "h-alone"],
)
def test_so_do_images(monkeypatch, training, devices):
    monkeypatch.setattr(HAlone, "is_better", lambda alone: True)  # or what it learned would not be seen
    whole, in_parts = (small_recipe(f=IMAGES, steps=8, part_size=size, **training) for size in (None, 5))
    check_same(fit(in_parts, pictures(), devices=devices), fit(whole, pictures()), tolerance=1e-5)


def test_all_parts_have_as_many_known_labels(monkeypatch):
    """Of 7 labelled rows a part of four has one or two: h is asked for the class of one alone, all else for all."""
    monkeypatch.setattr(together, "_PAIRS_WORTH_A_PASS", 1)
    data = blobs(rows=80, classes=3, labelled=12)
    whole, in_parts = (
        small_recipe(steps=4, batch_size=16, labelled_share=7 / 16, part_size=size) for size in (None, 4)
    )
    check_same(fit(in_parts, data), fit(whole, data), tolerance=1e-5)
