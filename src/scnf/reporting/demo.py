"""The demo's page: one HTML file that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scnf.data import SOURCES, Split, load
from scnf.evaluation import plots
from scnf.evaluation.metrics import log_joint_of
from scnf.model import SemiConditionalFlow
from scnf.modelfile import load as load_model
from scnf.recipes import Recipe, recipe_to_toml
from scnf.reporting.curves import nats_of_levels, objective_picture
from scnf.reporting.page import render
from scnf.reporting.pictures import Picture, picture
from scnf.reporting.toys import draw_samples, toy_pictures

_DIGITS_A_ROW = 10
_MISTAKES_A_ROW = 5


def write_report(folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    """Draw what the models in a folder learned and write ``report.html`` there; return its path."""
    sections = [_section(folder, record) for record in records]
    page = render(
        "demo.html.j2", sections=sections, record=records[0], seed=records[0]["seed"], folder=folder.as_posix()
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _section(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    data = record["data"]
    split = load(data["name"], data["labels"], data["seed"])
    model = load_model(folder / f"{data['name']}.safetensors").model
    pictures = _image_pictures(model, split) if split.x_train.ndim == 4 else toy_pictures(model, split)
    methods = [
        {"name": "SCNF", "error": record["metrics"]["error"], "seconds": record["seconds"], "ours": True},
        *record["baselines"],
    ]
    recipe = Recipe.model_validate(record["recipe"])
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
        "curve": objective_picture(
            record["history"], record["objectives"], recipe, nats_of_levels(split.x_train[0].size, split.levels)
        ),
        "recipe": recipe_to_toml(recipe),
    }


def _image_pictures(model: SemiConditionalFlow, split: Split) -> list[Picture]:
    assert split.levels is not None
    brightest = split.levels - 1
    classes = np.arange(len(split.classes))
    sampled, _ = draw_samples(model, _DIGITS_A_ROW * len(classes), np.repeat(classes, _DIGITS_A_ROW))
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
    return picture(
        "Mistakes",
        f"{len(shown)} of the {total} test images that it gets wrong: true class → predicted class.",
        lambda theme: plots.single(
            lambda ax: plots.draw_captioned_images(ax, images, labels, _MISTAKES_A_ROW, theme), theme
        ),
    )


def _mosaic(title: str, caption: str, images: np.ndarray, classes: Sequence[str]) -> Picture:
    clipped = images.clip(0, 1)
    return picture(
        title,
        caption,
        lambda theme: plots.single(
            lambda ax: plots.draw_images(ax, clipped, _DIGITS_A_ROW, theme, row_labels=classes), theme
        ),
    )
