import pytest
import torch

from scnf.training import neighbors as neighbors_module
from scnf.training.edges import describe_edges
from tests.small_images import leaning


def test_images_are_near_if_their_edges_are():
    """A stroke moved by a pixel is nearer to itself than to one of another direction that shares more of its pixels."""
    images = torch.zeros(3, 1, 28, 28, dtype=torch.uint8)
    images[0, :, 6:22, 12] = 255
    images[1, :, 6:22, 13] = 255
    images[2, :, 14, 6:22] = 255
    features = describe_edges(images)
    moved, turned = (features[0] - features[1]).norm(), (features[0] - features[2]).norm()
    pixels = images.flatten(1).float()
    assert (pixels[0] - pixels[1]).norm() > (pixels[0] - pixels[2]).norm()
    assert moved < turned / 3


def test_strokes_of_small_images_are_told_by_their_edges_too():
    images = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
    images[0, :, 1:7, 3] = 16
    images[1, :, 1:7, 4] = 16
    images[2, :, 4, 1:7] = 16
    features = describe_edges(images)
    assert (features[0] - features[1]).norm() < (features[0] - features[2]).norm() / 1.5


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 16, 40), (1, 65, 33), (1, 8, 8), (3, 4, 5)])
def test_flat_images_have_no_edges(shape):
    assert not describe_edges(torch.full((2, *shape), 7, dtype=torch.uint8)).any()


@pytest.mark.parametrize("columns", [7, 100, 448, 512, 1000])
def test_the_smallest_values_are_found_where_a_full_search_finds_them(columns):
    values = torch.randn(5, columns)
    for found, expected in zip(neighbors_module._smallest(values, 7), values.topk(7, largest=False), strict=True):
        assert torch.equal(found, expected)


def test_fine_images_are_ranked_by_how_well_they_can_be_bent(monkeypatch):
    """Of the candidates, a row's own and those that it is one of, the nearest by bending come first."""
    monkeypatch.setattr(neighbors_module, "_NEIGHBORS_BY_BENDING", 2)
    place = torch.tensor([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(
        neighbors_module, "bending_distances", lambda x, pairs: (place[pairs[:, 0]] - place[pairs[:, 1]]).abs()
    )
    distances, neighbors = neighbors_module._ranked_by_bending(
        torch.zeros(4, 1), torch.tensor([[3, 1], [3, 2], [0, 3], [2, 2]])
    )
    assert neighbors.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert distances.tolist() == [[1, 3], [1, 2], [2, 3], [4, 6]]


def test_fine_images_are_also_compared_upright():
    """Strokes without and with a bar: the nearest is one that leans alike, but upright it is one of the same kind."""
    images = torch.cat([leaning(lean, bar) for lean in (-0.8, -0.4, 0.0, 0.4, 0.8) for bar in (False, True)])
    upright, plain = ((points[:, None] - points).norm(dim=2) for points in neighbors_module._views(images))
    kind = torch.arange(len(images)) % 2
    same = kind == kind[:, None]
    for distances, is_nearest in ((plain, False), (upright, True)):
        to_same = distances.where(same & ~torch.eye(len(images), dtype=torch.bool), torch.inf).amin(1)
        to_other = distances.where(~same, torch.inf).amin(1)
        assert bool((to_same < to_other).all()) == is_nearest


@pytest.mark.parametrize(("shape", "views"), [((5,), 1), ((1, 3, 3), 1), ((1, 8, 8), 1), ((3, 16, 20), 2)])
def test_only_images_that_are_fine_enough_are_set_upright(shape, views):
    assert len(list(neighbors_module._views(torch.rand(20, *shape)))) == views
