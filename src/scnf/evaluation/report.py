"""The demo's page: one HTML file that needs nothing else."""

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import torch
from matplotlib.figure import Figure

from scnf.data import SOURCES, Split, load
from scnf.evaluation import plots
from scnf.evaluation.metrics import log_joint_of
from scnf.evaluation.themes import DARK, LIGHT, Theme
from scnf.model import SemiConditionalFlow
from scnf.modelfile import load as load_model
from scnf.recipes import Recipe, recipe_to_toml

_DPI = 150
_DIGITS_A_ROW = 10
_MISTAKES_A_ROW = 5


@dataclass(frozen=True)
class Picture:
    """A drawing for light pages and one for dark pages, as data URIs, with its caption."""

    title: str
    caption: str
    light: str
    dark: str


def write_report(folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    """Draw what the models in a folder learned and write ``report.html`` there; return its path."""
    sections = [_section(folder, record) for record in records]
    template = resources.files("scnf.evaluation").joinpath("report.html.j2").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(template).render(
        sections=sections, record=records[0], seed=records[0]["seed"], folder=folder.as_posix(), light=LIGHT, dark=DARK
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _section(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    data = record["data"]
    split = load(data["name"], data["labels"], data["seed"])
    model = load_model(folder / f"{data['name']}.safetensors").model
    pictures = _image_pictures(model, split) if split.x_train.ndim == 4 else _toy_pictures(model, split)
    methods = [
        {"name": "SCNF", "error": record["metrics"]["error"], "seconds": record["seconds"], "ours": True},
        *record["baselines"],
    ]
    return {
        "name": data["name"],
        "description": SOURCES[data["name"]].description,
        "labels": data["labels"],
        "rows": len(split.x_train),
        "tested": len(split.x_test),
        "record": record,
        "methods": methods,
        "largest_error": max(method["error"] for method in methods) or 1.0,
        "pictures": pictures,
        "curve": _curve(record, split),
        "recipe": recipe_to_toml(Recipe.model_validate(record["recipe"])),
    }


def _picture(title: str, caption: str, draw: Callable[[Theme], Figure]) -> Picture:
    def uri(theme: Theme) -> str:
        return "data:image/png;base64," + base64.b64encode(plots.to_png(draw(theme), _DPI)).decode()

    return Picture(title, caption, uri(LIGHT), uri(DARK))


def _toy_pictures(model: SemiConditionalFlow, split: Split) -> list[Picture]:
    window = plots.limits(split.x_train)
    grid = plots.log_joint_on_grid(model, window)
    x, y = _samples(model, len(split.x_test))
    return [
        _picture(
            "Decision boundary",
            f"Line: where both classes are equally probable. Tint: class probability. Big points: the {split.labelled} "
            "labels; grey: rows without one.",
            lambda theme: plots.single(lambda ax: plots.draw_decision(ax, grid, split, theme), theme),
        ),
        _picture(
            "Density",
            f"log p(x), from its peak (bright) down to {plots.DENSITY_RANGE:g} nats below it (dark).",
            lambda theme: plots.single(lambda ax: plots.draw_density(ax, grid, window, theme), theme),
        ),
        _picture(
            "Samples of the model",
            f"{len(x)} points drawn from p(x, y), coloured by the class they were drawn for.",
            lambda theme: plots.single(lambda ax: plots.draw_points(ax, x, y, window, theme), theme),
        ),
        _picture(
            "Real points",
            f"The {len(split.x_test)} test points in the colours of their true classes.",
            lambda theme: plots.single(
                lambda ax: plots.draw_points(ax, split.x_test, split.y_test, window, theme), theme
            ),
        ),
    ]


def _image_pictures(model: SemiConditionalFlow, split: Split) -> list[Picture]:
    assert split.levels is not None
    brightest = split.levels - 1
    classes = np.arange(len(split.classes))
    sampled, _ = _samples(model, _DIGITS_A_ROW * len(classes), np.repeat(classes, _DIGITS_A_ROW))
    real = np.concatenate([split.x_test[split.y_test == k][:_DIGITS_A_ROW] for k in classes])
    pictures = [
        _mosaic(
            "Samples of the model",
            "Each row is drawn for one class.",
            sampled[:, 0] * split.levels / brightest,
            split.classes,
        ),
        _mosaic("Real images", "Test images of the same classes.", real[:, 0] / brightest, split.classes),
    ]
    predicted = log_joint_of(model, torch.tensor(split.x_test), split.levels).argmax(1).numpy()
    wrong = np.flatnonzero(predicted != split.y_test)
    if len(wrong):
        pictures.append(_mistakes(split, wrong[: _MISTAKES_A_ROW**2], predicted, len(wrong)))
    return pictures


def _mistakes(split: Split, shown: np.ndarray, predicted: np.ndarray, total: int) -> Picture:
    assert split.levels is not None
    images = split.x_test[shown][:, 0] / (split.levels - 1)
    labels = [f"{split.classes[split.y_test[i]]} → {split.classes[predicted[i]]}" for i in shown]
    return _picture(
        "Mistakes",
        f"{len(shown)} of the {total} test images that it gets wrong: true class → predicted class.",
        lambda theme: plots.single(
            lambda ax: plots.draw_captioned_images(ax, images, labels, _MISTAKES_A_ROW, theme), theme
        ),
    )


def _mosaic(title: str, caption: str, images: np.ndarray, classes: Sequence[str]) -> Picture:
    clipped = images.clip(0, 1)
    return _picture(
        title,
        caption,
        lambda theme: plots.single(
            lambda ax: plots.draw_images(ax, clipped, _DIGITS_A_ROW, theme, row_labels=classes), theme
        ),
    )


def _samples(model: SemiConditionalFlow, n: int, y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x, labels = model.sample(n, None if y is None else torch.tensor(y))
    # What overflowed on its way back from the latents is left out of the picture, not drawn somewhere.
    return np.nan_to_num(x.numpy(), nan=1e6, posinf=1e6, neginf=-1e6), labels.numpy()


def _curve(record: dict[str, Any], split: Split) -> Picture:
    # The model's unit is 1/levels of the data's: with this shift the curve and the NLL above it are in one unit.
    shift = 0.0 if split.levels is None else split.x_train[0].size * math.log(split.levels)
    curves: dict[int, list[tuple[int, float]]] = {}
    for point in record["history"]:
        curves.setdefault(point["restart"], []).append((point["step"], point["loss"] + shift))
    best = int(np.argmin(np.nan_to_num(record["objectives"], nan=np.inf)))
    caption = "The objective at every step."
    if len(curves) > 1:
        caption = f"The objective of {len(curves)} restarts; the strong line is the one that was kept."
    if record["recipe"]["training"]["labelled_weight_start"] is not None:
        caption += " Labelled rows weigh more at the start."
    return _picture("Training", caption, lambda theme: plots.curve_figure(curves, best, theme))
