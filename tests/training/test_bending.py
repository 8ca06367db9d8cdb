from itertools import pairwise

import pytest
import torch

from scnf.training.bending import bending_distances
from tests.small_images import leaning


def between(*images: torch.Tensor) -> list[float]:
    """Return the distances of the first image to the others."""
    rows = torch.cat(images)
    return bending_distances(rows, torch.tensor([[0, other] for other in range(1, len(rows))])).tolist()


def stroke(*corners: tuple[int, int], side: int = 28) -> torch.Tensor:
    """Return an image of lines 3 pixels wide from corner to corner, given as (down, right)."""
    down, right = torch.arange(float(side))[:, None], torch.arange(float(side))
    image = torch.zeros(side, side)
    for (y0, x0), (y1, x1) in pairwise(corners):
        along = ((down - y0) * (y1 - y0) + (right - x0) * (x1 - x0)) / max((y1 - y0) ** 2 + (x1 - x0) ** 2, 1)
        along = along.clamp(0, 1)
        distance = (down - y0 - along * (y1 - y0)).square() + (right - x0 - along * (x1 - x0)).square()
        image = image.maximum((-distance / 2).exp())
    return (255 * image)[None, None]


def test_a_bent_stroke_is_nearer_than_one_with_another_corner():
    """Pixel for pixel, the stroke that bulges is the farther one."""
    straight = stroke((6, 14), (22, 14))
    bulging, cornered = stroke((6, 13), (14, 15), (22, 13)), stroke((6, 14), (22, 14), (22, 18))
    assert (straight - bulging).norm() > (straight - cornered).norm()
    to_bulging, to_cornered = between(straight, bulging, cornered)
    assert to_bulging < to_cornered / 1.4


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 16, 20), (1, 17, 64), (3, 60, 40)])
def test_an_image_is_at_no_distance_from_itself(shape):
    image = torch.randint(256, (1, *shape), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    itself, another = between(image, image, image.flip(3))
    assert itself < 1e-5
    assert another > 0.1


def test_both_directions_count_alike():
    images = torch.cat([leaning(0.0, bar=False), leaning(0.0, bar=True)])
    there, back = bending_distances(images, torch.tensor([[0, 1], [1, 0]])).tolist()
    assert there == pytest.approx(back)


def test_how_dark_a_stroke_is_does_not_matter():
    image = leaning(0.3, bar=True)
    assert between(image, image // 2)[0] < 1e-3


def test_distances_do_not_depend_on_the_pairs_around():
    images = torch.cat([stroke((6, 8), (22, right)) for right in range(6, 24)])
    pairs = torch.combinations(torch.arange(len(images)))  # more than are taken at a time
    assert len(pairs) > 128
    alone = torch.cat([bending_distances(images, pair[None]) for pair in pairs[::10]])
    torch.testing.assert_close(bending_distances(images, pairs)[::10], alone)


def test_flat_images_are_alike():
    flat = torch.full((1, 1, 28, 28), 9, dtype=torch.uint8)
    assert between(flat, flat // 3) == [0.0]
