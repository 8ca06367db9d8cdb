"""Which recipe suits data that nobody has chosen one for."""

from typing import Any

import torch
from torch import Tensor

from scnf.bijections import PrincipalComponents, Standardize
from scnf.recipes.covariance import choose_covariance
from scnf.recipes.load import load_recipe
from scnf.recipes.schema import Recipe

# z_f takes the principal components that hold so much of the variance: what is left is noise to the classes.
_VARIANCE_IN_Z_F = 0.95
# Images up to so many pixels are learned as vectors: there is little to gain from a second scale.
_PIXELS_AS_VECTOR = 16 * 16
# Coupling steps of the two levels of larger ones, and how much of them must be 0 to be background.
_IMAGE_STEPS = (6, 8)
_MUCH_BACKGROUND = 0.5
# A covariance for each class of larger images: beyond so many components it would be most of the model.
_COMPONENTS_WITH_COVARIANCE = 256
# So few columns of so many rows hold shapes such as rings and moons, which Gaussians are a bad start for.
_FEW_COLUMNS, _MANY_ROWS = 3, 300
# Up to so many rows a run has 600 steps at the most; more rows have more to tell.
_ROWS_OF_SHORT_RUNS = 2000


def choose_recipe(x: Tensor, y: Tensor, levels: int | None = None) -> Recipe:
    """Return a recipe for rows x ``[N, ...]``, images ``[N, C, H, W]`` if levels are given, y -1 where hidden.

    What is chosen follows from the number of rows, columns and labels and from the variance of the columns alone; it is
    an ordinary recipe, and any part of it can be set by hand.

    Example:
        >>> import torch
        >>> x, y = torch.randn(300, 5), torch.randint(0, 3, (300,))
        >>> choose_recipe(x, y).model.h.kind
        'gaussian'
    """
    shape = tuple(x.shape[1:])
    if len(shape) == 3 and shape[1] * shape[2] > _PIXELS_AS_VECTOR:
        return _of_images(x, levels or 256)
    if len(shape) == 3:
        return _of_small_images(x, y)
    if shape[0] == 1 or (shape[0] <= _FEW_COLUMNS and len(x) >= _MANY_ROWS):
        return _of_few_columns(len(x))
    return _of_vectors(x.float(), y)


def _of_few_columns(rows: int) -> Recipe:
    plain = load_recipe("toy", {"name": "chosen"})
    if rows < _MANY_ROWS:  # a tenth of so few would tell little of the rest
        return plain
    longer = _longer(rows)
    steps = round(plain.training.steps * longer)
    watched = {"steps": steps, "patience": round(steps / 4), "holdout": 0.1}
    return plain.model_copy(update={"training": plain.training.model_copy(update=watched)})


def _of_vectors(x: Tensor, y: Tensor) -> Recipe:
    rows, columns = x.shape
    # Directions in which few rows vary by chance would be stretched to the size of all others.
    rotated = rows >= 3 * columns
    # A coupling needs two components to split.
    z_f = max(_strong_components(x), 2) if rotated else columns
    labels = torch.bincount(y[y >= 0])
    if int(labels.min()) >= 4 * z_f:
        covariance = "full"
    else:  # one for each class has to be told by its own labels; EM would let one class take all that is far out
        covariance = choose_covariance(_components(x, z_f, rotated), y, len(labels))
    model = {
        "scaling": "principal" if rotated else "columns",
        "z_f": z_f,
        "f": {"kind": "coupling", "steps": 4, "hidden": [64], "linear": "none"},
        "h": {"kind": "gaussian", "covariance": covariance},
    }
    training = {**_to_plateau(rows), "start": "em", "noise": 0.1}
    return Recipe.model_validate({"name": "chosen", "model": model, "training": training})


def _of_small_images(x: Tensor, y: Tensor) -> Recipe:
    rows, classes, side = len(x), int(y.max()) + 1, max(x.shape[2:])
    pixels = x.flatten(1).float()
    rotated = rows >= 3 * pixels.shape[1]
    z_f = max(_strong_components(pixels), 2) if rotated else pixels.shape[1]
    model = {
        "scaling": "principal" if rotated else "columns",
        "z_f": z_f,
        "f": {"kind": "coupling", "steps": 4, "hidden": [128], "linear": "none"},
        "h": {"kind": "gaussian", "covariance": "full" if rows >= 4 * classes * z_f else "shared"},
    }
    augment = {"shift": 0.075 * side, "rotate": 10.0, "scale": 0.08, "shear": 0.1}
    # The graph errs less than a posterior of few images: it begins, and teaches images and copies at a high price.
    consistency = {"weight": 300.0, "temperature": 8.0, "start": 0.0, "share": 1.0, "augment": augment}
    training = {**_to_plateau(rows), "start": "graph", "guess": 0.5, "consistency": consistency}
    return Recipe.model_validate({"name": "chosen", "model": model, "training": training})


def _longer(rows: int) -> float:
    """Return how many times as many steps rows may take as few would."""
    return min(max(rows / _ROWS_OF_SHORT_RUNS, 1.0) ** 0.5, 10.0)


def _to_plateau(rows: int) -> dict[str, Any]:
    """Return a training that the likelihood of rows kept aside brings to its end, mostly long before the last step."""
    longer = _longer(rows)
    return {
        "steps": round(600 * longer),
        "patience": round(60 * longer),
        "holdout": 0.15,
        "decay_start": 0.7,
        "batch_size": 256,
        "labelled_share": 0.125,
        "weight_decay": 0.05,
    }


def _components(x: Tensor, count: int, rotated: bool) -> Tensor:
    """Return the columns or the strongest principal components, standardised, as h sees them at the start."""
    layer = PrincipalComponents(x.shape[1]) if rotated else Standardize(x.shape[1])
    return layer.initialize(x)[:, -count:]


def _strong_components(x: Tensor) -> int:
    """Return how many principal components hold most of the variance."""
    centred = (x - x.mean(0)).double()
    variances = torch.linalg.eigvalsh(centred.T @ centred).clamp(min=0).flip(0)
    shares = variances.cumsum(0) / variances.sum().clamp(min=1e-300)
    return min(int((shares < _VARIANCE_IN_Z_F).sum()) + 1, len(shares))


def _of_images(x: Tensor, levels: int) -> Recipe:
    channels, height, width = x.shape[1:]
    spec: list[dict[str, Any]] = []
    for steps in _IMAGE_STEPS:
        halves = height % 2 == 0 and width % 2 == 0
        if halves:
            channels, height, width = 4 * channels, height // 2, width // 2
        if channels == 1:  # nothing to couple by channel
            spec.append({"squeeze": False, "checkerboard": steps})
            continue
        # A quarter of the components goes on to z_f at the end of two levels that halve, as in the recipe mnist.
        keep = max(channels // (2 if len(spec) == 0 else 4), 1)
        spec.append({"squeeze": halves, "channel": steps, "keep": keep})
        channels = keep
    covariances = channels * height * width <= _COMPONENTS_WITH_COVARIANCE
    background = float((x == 0).double().mean()) > _MUCH_BACKGROUND
    model = {
        "f": {"kind": "multiscale", "levels": spec, "net": "glow", "hidden": 48, "split_prior": True},
        "h": {"kind": "coupling", "steps": 6, "hidden": [256], "class_linear": covariances},
        "pixels": "background" if background else "logit",
        "pixel_levels": levels,
    }
    training = {
        "steps": 3000,
        "batch_size": 64,
        "labelled_share": 0.125,
        "labelled_weight": 0.02,
        "guess": 0.8,
        "optimizer": "muon",
        "learning_rate": 0.002,
        "h_rate": 3.0,
        "warmup_steps": 100,
        "ema": 0.99,
        "clip": 50_000.0,
        "holdout": 0.05,
        "patience": 300,
        "decay_start": 0.7,
    }
    return Recipe.model_validate({"name": "chosen", "model": model, "training": training})
