import pytest
import torch

from scnf.data.batches import Batches, dequantize
from scnf.recipes import TrainingSpec


def batches(labelled: int = 10, hidden: int = 90, seed: int = 0, levels: int | None = None, **spec) -> Batches:
    """Rows that carry their own index, so that a batch tells which they are."""
    rows = labelled + hidden
    y = torch.where(torch.arange(rows) < labelled, torch.arange(rows) % 2, -1)
    return Batches(torch.arange(float(rows))[:, None], y, TrainingSpec(**spec), seed, levels)


def same(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_batch_depends_on_seed_and_step_alone():
    spec = {"batch_size": 16, "labelled_share": 0.25, "noise": 0.1}
    in_order, other = batches(**spec), batches(**spec)
    forwards = [in_order(step) for step in range(30)]
    torch.manual_seed(99)
    backwards = [other(step) for step in reversed(range(30))]
    assert all(same(a, b) for a, b in zip(forwards, reversed(backwards), strict=True))
    assert not same(in_order(3), batches(seed=1, **spec)(3))
    assert not same(in_order(3), in_order(4))


def test_the_global_random_state_is_left_alone():
    before = torch.get_rng_state()
    batches(noise=0.1)(5)
    batches(levels=100)(5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("spec", "labelled", "hidden"),
    [
        ({"batch_size": 20}, 2, 18),  # the share of the rows
        ({"batch_size": 4}, 1, 3),  # at least one
        ({"batch_size": 1000}, 10, 90),  # all rows once
        ({"batch_size": 20, "labelled_share": 0.25}, 5, 15),
        ({"batch_size": 20, "labelled_share": 0.0}, 1, 19),
        ({"batch_size": 20, "labelled_share": 1.0}, 19, 1),
        ({"batch_size": 200, "labelled_share": 0.25}, 50, 150),  # rows come again
    ],
)
def test_labelled_share_of_a_batch(spec, labelled, hidden):
    x, y, weights = batches(**spec)(7)
    assert [int((y >= 0).sum()), int((y < 0).sum())] == [labelled, hidden]
    assert len(x) == len(weights) == labelled + hidden
    assert torch.equal(x[:, 0] < 10, y >= 0)  # rows keep their own labels


@pytest.mark.parametrize("share", [None, 0.1, 0.5])
@pytest.mark.parametrize(("weight", "expected"), [(None, 0.1), (0.3, 0.3), (0.0, 0.0), (1.0, 1.0)])
def test_labelled_weight_does_not_depend_on_the_share(share, weight, expected):
    _, y, weights = batches(batch_size=20, labelled_share=share, labelled_weight=weight)(0)
    assert weights.sum().item() == pytest.approx(1)
    assert weights[y >= 0].sum().item() == pytest.approx(expected)
    assert len(set(weights[y >= 0].tolist())) == len(set(weights[y < 0].tolist())) == 1


def test_equation_one_gives_every_row_the_same_weight():
    assert batches(batch_size=100)(0)[2].tolist() == pytest.approx([0.01] * 100)


def test_labelled_weight_decays_geometrically():
    drawn = batches(steps=100, labelled_weight=0.1, labelled_weight_start=0.4, labelled_decay=0.5)
    found = [drawn.labelled_weight(progress) for progress in (0, 0.25, 0.5, 1)]
    assert found == pytest.approx([0.4, 0.2, 0.1, 0.1])
    for _, y, weights in (drawn(25), drawn(3, progress=0.25)):
        assert weights[y >= 0].sum().item() == pytest.approx(0.2)
        assert weights.sum().item() == pytest.approx(1)


def test_progress_changes_the_weights_alone():
    drawn = batches(steps=100, noise=0.1, labelled_weight_start=0.4)
    (*late, late_weights), (*early, early_weights) = drawn(3, progress=0.9), drawn(3)
    assert same(late, early)
    assert not torch.equal(late_weights, early_weights)


@pytest.mark.parametrize(("labelled", "hidden"), [(0, 40), (40, 0)])
def test_rows_of_one_kind_get_all_the_weight(labelled, hidden):
    x, y, weights = batches(labelled, hidden, batch_size=8, labelled_share=0.5, labelled_weight=0.3)(0)
    assert len(x) == 8
    assert bool((y >= 0).all()) == bool(labelled)
    assert weights.tolist() == pytest.approx([1 / 8] * 8)


@pytest.mark.parametrize("batch_size", [16, 40])
def test_an_epoch_covers_every_hidden_row_once(batch_size):
    drawn = batches(labelled=10, hidden=90, batch_size=batch_size, labelled_share=0.25)
    per_batch = drawn.counts["hidden"]
    rows = torch.cat([x[y < 0, 0] for x, y, _ in map(drawn, range(0, 90))])
    for epoch in rows[: len(rows) // 90 * 90].split(90):
        assert sorted(epoch.tolist()) == list(range(10, 100))
    assert rows[:90].tolist() != rows[90:180].tolist()  # a new order each time
    assert len(rows) == 90 * per_batch


def test_noise_is_measured_in_deviations_of_the_column():
    x = torch.cat([torch.randn(4000, 1), 100 * torch.randn(4000, 1)], dim=1)
    spec = TrainingSpec(noise=0.1, batch_size=4000)
    quiet, noisy = (Batches(x, torch.full((4000,), -1), s, 0) for s in (TrainingSpec(batch_size=4000), spec))
    deviation = (noisy(0)[0] - quiet(0)[0]).std(0)
    assert deviation.tolist() == pytest.approx([0.1, 10.0], rel=0.1)


def test_dequantize_stays_within_its_level():
    x = torch.arange(17).repeat(200, 1).to(torch.uint8)
    values = dequantize(x, 17)
    assert values.dtype == torch.float32
    assert values.min() >= 0
    assert values.max() < 1
    assert torch.equal((values * 17).floor().to(torch.uint8), x)
    assert (values * 17 - x).mean().item() == pytest.approx(0.5, abs=0.02)
    assert values[0].tolist() != values[1].tolist()


@pytest.mark.parametrize("levels", [2, 17, 256])
def test_dequantize_never_rounds_up_to_the_next_level(monkeypatch, levels):
    monkeypatch.setattr(torch, "rand", lambda shape, **kwargs: torch.full(shape, 1 - 2**-24))  # the largest there is
    x = torch.arange(levels)
    values = dequantize(x, levels)
    assert values[-1] < 1
    assert (values < (x + 1) / levels).all()


def test_dequantize_repeats_with_its_generator():
    x = torch.randint(0, 17, (3, 4))
    first, second = (dequantize(x, 17, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, dequantize(x, 17, torch.Generator().manual_seed(6)))


def test_batches_dequantise_anew_each_step():
    drawn = Batches(torch.zeros(8, 2, dtype=torch.uint8), torch.full((8,), -1), TrainingSpec(batch_size=8), 0, 4)
    first, second = drawn(0)[0], drawn(1)[0]
    assert ((first >= 0) & (first < 0.25)).all()
    assert not torch.equal(first.sort(0).values, second.sort(0).values)


def test_the_deviation_of_all_rows_is_taken_once(monkeypatch):
    taken, original = [], torch.Tensor.std
    monkeypatch.setattr(torch.Tensor, "std", lambda x, *given: taken.append(1) or original(x, *given))
    spec = TrainingSpec(batch_size=8, noise=0.1, consistency={"augment": {"noise": 0.1}})
    drawn = Batches(torch.randn(8, 2), torch.full((8,), -1), spec, 0)
    for step in range(3):
        drawn.copies(step, spec.consistency)
    assert len(taken) == 1
