import pytest
import torch

from scnf.data.augment import altered
from scnf.recipes import AugmentSpec

STILL = {"shift": 0, "rotate": 0, "scale": 0, "shear": 0}


def images(rows: int = 6) -> torch.Tensor:
    return torch.randint(0, 256, (rows, 1, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def drawn(x: torch.Tensor, seed: int = 0, **spec) -> torch.Tensor:
    return altered(x, AugmentSpec(**{**STILL, **spec}), torch.Generator().manual_seed(seed))


def test_without_movement_a_copy_is_the_image():
    assert torch.equal(drawn(images()), images())


@pytest.mark.parametrize("limit", [{"shift": 3}, {"rotate": 30}, {"scale": 0.3}, {"shear": 0.3}])
def test_each_limit_moves_and_values_stay_integers_of_the_same_range(limit):
    x = images()
    copy = drawn(x, **limit)
    assert copy.dtype == torch.uint8
    assert copy.shape == x.shape
    assert not torch.equal(copy, x)
    assert len({tuple(row.flatten().tolist()) for row in drawn(x[:1].repeat(4, 1, 1, 1), **limit)}) == 4


def test_the_draw_depends_on_the_generator_alone():
    x = images()
    torch.manual_seed(5)
    first = drawn(x, shift=2, rotate=15)
    torch.manual_seed(6)
    assert torch.equal(first, drawn(x, shift=2, rotate=15))
    assert not torch.equal(first, drawn(x, seed=1, shift=2, rotate=15))


def test_a_shift_stays_within_its_limit():
    dot = torch.zeros(200, 1, 29, 29, dtype=torch.uint8)
    dot[:, :, 14, 14] = 255
    copy = drawn(dot, shift=2).float()
    rows, columns = copy.sum(3)[:, 0], copy.sum(2)[:, 0]
    for ink in (rows, columns):
        centre = (ink * torch.arange(29)).sum(1) / ink.sum(1)
        assert ((centre - 14).abs() <= 2.02).all()
        assert (centre - 14).abs().max() > 1.8


def test_a_turn_goes_the_whole_way():
    bar = torch.zeros(200, 1, 29, 29, dtype=torch.uint8)
    bar[:, :, 14, 4:25] = 255
    copy = drawn(bar, rotate=20).float()[:, 0]
    ys, xs = torch.meshgrid(torch.arange(29) - 14.0, torch.arange(29) - 14.0, indexing="ij")
    ink = copy / copy.sum((1, 2), keepdim=True)
    angle = 0.5 * torch.atan2(2 * (ink * xs * ys).sum((1, 2)), (ink * (xs**2 - ys**2)).sum((1, 2)))
    assert angle.abs().max().rad2deg() == pytest.approx(20, abs=0.7)
    assert angle.min() < -0.3 < 0.3 < angle.max()
