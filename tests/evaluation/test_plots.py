import subprocess
import sys

import numpy as np
import pytest
import torch

from scnf import SemiConditionalFlow, load_split
from scnf.bijections import ActNorm
from scnf.densities import GaussianPerClass
from scnf.evaluation import plots
from scnf.evaluation.themes import DARK, LIGHT

PNG = b"\x89PNG\r\n\x1a\n"


def model_with(classes: int) -> SemiConditionalFlow:
    torch.manual_seed(0)
    model = SemiConditionalFlow(ActNorm(2), GaussianPerClass(features=2, classes=classes), shape=(2,))
    split = load_split("moons", labels=10, seed=0)
    model.initialize(torch.tensor(split.x_train), torch.tensor(split.y_train))
    return model.eval()


@pytest.fixture(scope="module")
def split():
    return load_split("moons", labels=10, seed=0)


@pytest.fixture(scope="module")
def model():
    return model_with(2)


@pytest.mark.parametrize("panels", [1, 3, 7])
def test_decision_figure_has_a_panel_for_each_model(model, split, panels):
    figure = plots.decision_figure([plots.Panel(f"model {i}", model, split) for i in range(panels)])
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == [f"model {i}" for i in range(panels)]
    assert plots.to_png(figure, dpi=30).startswith(PNG)


def test_the_boundary_lies_where_the_classes_are_equally_probable(model, split):
    figure = plots.new_figure(3, 3)
    ax = figure.subplots()
    window = plots.limits(split.x_train)
    plots.draw_decision(ax, plots.log_joint_on_grid(model, window), split)
    lines = [path for collection in ax.collections if len(collection.get_paths()) for path in collection.get_paths()]
    boundary = max(lines, key=len).vertices
    log_joint = model.log_joint(torch.tensor(boundary, dtype=torch.float32)).detach()
    assert (log_joint[:, 0] - log_joint[:, 1]).abs().max() < 0.2


def test_grid_rows_go_up_and_columns_go_right(model):
    grid = plots.log_joint_on_grid(model, (-1.0, 2.0, -3.0, 4.0), side=3)
    corner = model.log_joint(torch.tensor([[2.0, -3.0]]))[0].detach().numpy()
    np.testing.assert_allclose(grid[0, 2], corner, rtol=1e-5)


def test_a_density_that_overflows_is_drawn_as_nothing(split):
    class Broken(torch.nn.Module):
        def log_joint(self, x):
            return torch.full((len(x), 2), float("nan"))

    grid = plots.log_joint_on_grid(Broken(), (0, 1, 0, 1), side=4)
    assert np.isfinite(grid).all()
    plots.to_png(plots.single(lambda ax: plots.draw_decision(ax, grid, split)), dpi=20)


def test_more_than_two_classes_have_more_than_one_boundary(split):
    three = model_with(3)
    grid = np.stack([plots.log_joint_on_grid(three, plots.limits(split.x_train), side=30)[..., 0]] * 3, axis=2)
    grid[:, :10, 0] += 5
    grid[:, 10:20, 1] += 5
    grid[:, 20:, 2] += 5
    figure = plots.new_figure(2, 2)
    ax = figure.subplots()
    plots.draw_decision(ax, grid, split)
    assert sum(type(c).__name__ == "QuadContourSet" for c in ax.collections) == 3


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_other_figure_is_drawn_on_its_theme(model, split, theme):
    images = np.random.default_rng(0).random((7, 8, 8))
    curves = {0: [(1, 3.0), (2, 2.0)], 1: [(1, 2.5), (2, 2.4)]}
    figures = [
        plots.density_figure([plots.Panel("moons", model, split)], theme),
        plots.curve_figure(curves, best=0, theme=theme),
        plots.single(lambda ax: plots.draw_images(ax, images, 4, theme, row_labels="01"), theme),
        plots.single(lambda ax: plots.draw_captioned_images(ax, images, ["0 → 1"] * 7, 3, theme), theme),
    ]
    for figure in figures:
        assert plots.to_png(figure, dpi=30).startswith(PNG)


def test_a_curve_of_one_point_is_drawn():
    assert plots.to_png(plots.curve_figure({0: [(1, 2.0)]}, best=0), dpi=30).startswith(PNG)


def test_the_same_figure_gives_the_same_bytes():
    first, second = (plots.to_png(plots.curve_figure({0: [(1, 2.0), (2, 1.0)]}, best=0), dpi=30) for _ in range(2))
    assert first == second


def test_plots_leave_pyplot_alone():
    code = "import sys, scnf.evaluation.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
