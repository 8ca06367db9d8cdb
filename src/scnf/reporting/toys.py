"""Pictures of a model of two-dimensional data."""

import numpy as np
import torch

from scnf.data import Split
from scnf.evaluation import plots
from scnf.model import SemiConditionalFlow
from scnf.reporting.pictures import Picture, picture


def toy_pictures(model: SemiConditionalFlow, split: Split) -> list[Picture]:
    """Return decision boundary, density, samples and real points."""
    window = plots.limits(split.x_train)
    grid = plots.log_joint_on_grid(model, window)
    x, y = draw_samples(model, len(split.x_test))
    return [
        picture(
            "Decision boundary",
            f"Line: where both classes are equally probable. Tint: class probability. Big points: the {split.labelled} "
            "labels; grey: rows without one.",
            lambda theme: plots.single(lambda ax: plots.draw_decision(ax, grid, split, theme), theme),
        ),
        picture(
            "Density",
            f"log p(x), from its peak (bright) down to {plots.DENSITY_RANGE:g} nats below it (dark).",
            lambda theme: plots.single(lambda ax: plots.draw_density(ax, grid, window, theme), theme),
        ),
        picture(
            "Samples of the model",
            f"{len(x)} points drawn from p(x, y), coloured by the class they were drawn for.",
            lambda theme: plots.single(lambda ax: plots.draw_points(ax, x, y, window, theme), theme),
        ),
        picture(
            "Real points",
            f"The {len(split.x_test)} test points in the colours of their true classes.",
            lambda theme: plots.single(
                lambda ax: plots.draw_points(ax, split.x_test, split.y_test, window, theme), theme
            ),
        ),
    ]


def draw_samples(model: SemiConditionalFlow, n: int, y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and their labels, always the same ones."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x, labels = model.sample(n, None if y is None else torch.tensor(y))
    # What overflowed on its way back from the latents is left out of the picture, not drawn somewhere.
    return np.nan_to_num(x.numpy(), nan=1e6, posinf=1e6, neginf=-1e6), labels.numpy()
