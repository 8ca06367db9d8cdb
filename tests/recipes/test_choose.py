import pytest
import torch

from scnf.recipes import load_recipe
from scnf.recipes.build import build_model
from scnf.recipes.choose import choose_recipe
from scnf.recipes.covariance import choose_covariance


def vectors(rows: int, columns: int, labelled: int, strong: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of which ``strong`` columns vary much and the others hardly, and labels of two classes."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, columns, generator=generator)
    x[:, strong:] *= 0.01
    return x, torch.where(torch.arange(rows) < labelled, torch.arange(rows) % 2, -1)


def images(rows: int, *shape: int, ink: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(1, 256, (rows, *shape), generator=generator, dtype=torch.uint8)
    x[torch.rand(x.shape, generator=generator) > ink] = 0
    return x, torch.where(torch.arange(rows) < 8, torch.arange(rows) % 2, -1)


def test_z_f_takes_the_columns_that_vary():
    recipe = choose_recipe(*vectors(400, 10, 20, strong=4))
    assert (recipe.model.scaling, recipe.model.z_f) == ("principal", 4)
    assert recipe.training.holdout > 0


def test_too_few_rows_are_not_rotated():
    recipe = choose_recipe(*vectors(29, 10, 20))
    assert (recipe.model.scaling, recipe.model.z_f) == ("columns", 10)


@pytest.mark.parametrize(("labelled", "covariance"), [(20, "shared"), (31, "shared"), (32, "full"), (400, "full")])
def test_a_class_needs_labels_for_a_covariance_of_its_own(labelled, covariance):
    recipe = choose_recipe(*vectors(400, 10, labelled, strong=4))
    assert recipe.model.h.covariance == covariance


@pytest.mark.parametrize(
    ("rows", "columns", "is_toy"), [(300, 2, True), (299, 2, False), (300, 4, False), (20, 1, True)]
)
def test_shapes_of_few_columns_take_the_recipe_toy(rows, columns, is_toy):
    recipe = choose_recipe(*vectors(rows, columns, 10))
    assert (recipe.model == load_recipe("toy").model) == is_toy
    if is_toy:
        assert bool(recipe.training.holdout) == (rows >= 300)


@pytest.mark.parametrize(("rows", "steps"), [(100, 600), (2000, 600), (8000, 1200)])
def test_more_rows_may_take_more_steps(rows, steps):
    training = choose_recipe(*vectors(rows, 5, 10)).training
    assert (training.steps, training.patience) == (steps, steps // 10)


def test_small_images_are_vectors():
    recipe = choose_recipe(*images(1000, 1, 8, 8), levels=256)
    assert recipe.model.f.kind == "coupling"
    assert recipe.training.start == "graph"
    assert recipe.training.consistency.augment.shift == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("shape", "squeezed"),
    [
        ((1, 28, 28), [True, True]),
        ((1, 18, 18), [True, False]),
        ((1, 27, 27), [False, False]),
        ((3, 32, 32), [True] * 2),
    ],
)
def test_larger_images_are_multiscale(shape, squeezed):
    x, y = images(20, *shape)
    recipe = choose_recipe(x, y, levels=256)
    assert [level.squeeze for level in recipe.model.f.levels] == squeezed
    model = build_model(recipe.model, shape, 2)
    values = (x[:3] + 0.5) / 256
    model.initialize(values, y[:3])
    z_f, z_aux, _ = model.encode(values)
    torch.testing.assert_close(model.decode(z_f, z_aux), values, atol=1e-3, rtol=0)


@pytest.mark.parametrize(("ink", "pixels"), [(0.2, "background"), (0.9, "logit")])
def test_much_background_has_a_map_of_its_own(ink, pixels):
    assert choose_recipe(*images(20, 1, 28, 28, ink=ink), levels=256).model.pixels == pixels


def blobs(spread: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two classes side by side, each component of each class spread as told; five labels each."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(400) % 2
    z = torch.randn(400, spread.shape[1], generator=generator) * spread[truth]
    z[:, 0] += 8.0 * truth
    return z, torch.where(torch.arange(400) < 10, truth, -1)


def test_a_diagonal_for_each_class_where_classes_are_parted_alike():
    assert choose_covariance(*blobs(torch.tensor([[1.0, 1.0, 3.0], [1.0, 3.0, 1.0]])), 2) == "diagonal"


def test_one_covariance_where_components_hang_together():
    z, y = blobs(torch.ones(2, 3))
    assert choose_covariance(torch.cat([z, z[:, 1:] + 0.1 * z[:, :1]], 1), y, 2) == "shared"


def test_one_covariance_where_a_diagonal_would_part_by_how_far_out_rows_are():
    """Both classes have a core and a wide rim: two Gaussians tell these better than the classes."""
    z, y = blobs(torch.ones(2, 6))
    z[:, 0] /= 4
    z[100:250] *= 6
    assert choose_covariance(z, y, 2) == "shared"
