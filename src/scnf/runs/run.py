"""A run folder: what is trained on what, how far it has come, and what came out.

``recipe.toml`` and ``split.json`` are there from the start, ``checkpoint.safetensors`` while training, and
``model.safetensors``, ``history.json`` and ``metrics.json`` at the end. Every file appears whole or not at all and
``metrics.json`` is the last, so a run that was killed at any time can be resumed.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scnf.data import Split, find_source
from scnf.data import load as load_split
from scnf.data.published import Report, tell_nobody
from scnf.errors import UserError
from scnf.evaluation.records import finite, write_record
from scnf.evaluation.trained import describe, evaluate_on
from scnf.modelfile import MODEL_FILE, TrainedModel
from scnf.recipes import Recipe, load_recipe, recipe_to_toml
from scnf.recipes.build import build_model
from scnf.training import OnStep, TrainingData, fit
from scnf.training.check import check_training
from scnf.training.devices import check_devices

RECIPE_FILE = "recipe.toml"
SPLIT_FILE = "split.json"
CHECKPOINT_FILE = "checkpoint.safetensors"
HISTORY_FILE = "history.json"
METRICS_FILE = "metrics.json"


@dataclass(frozen=True)
class Request:
    """What a run is asked to be; None and no overrides leave it to the defaults, or to the run that is resumed.

    ``data_dir`` says where the data are on this machine; it is no part of the run and is not kept.
    """

    data: str | None = None
    labels: int | None = None
    seed: int | None = None
    recipe: str | None = None
    overrides: Mapping[str, Any] | None = None
    data_dir: Path | None = None


@dataclass(frozen=True)
class Run:
    """A run folder with its recipe and its data."""

    path: Path
    recipe: Recipe
    split: Split

    @property
    def data(self) -> dict[str, Any]:
        """Name of the data set, number of labels and seed of the split."""
        return {"name": self.split.name, "labels": self.split.labelled, "seed": self.split.seed}

    def metrics(self) -> dict[str, Any] | None:
        """Return what came out, or None while the run is unfinished."""
        path = self.path / METRICS_FILE
        return _read_json(path) if path.is_file() else None

    def train(
        self, on_step: OnStep = lambda *_: None, checkpoint_seconds: float = 20.0, devices: int = 1
    ) -> dict[str, Any]:
        """Train from the start or from the last checkpoint, write the results and return the metrics."""
        checkpoint = self.path / CHECKPOINT_FILE
        fitted = fit(
            self.recipe,
            TrainingData.of(self.split),
            self.split.seed,
            checkpoint,
            resume=True,
            on_step=on_step,
            checkpoint_seconds=checkpoint_seconds,
            devices=devices,
        )
        trained = TrainedModel(fitted.model, self.recipe, self.split.classes, self.split.levels, self.data)
        trained.save(self.path / MODEL_FILE)
        write_record(self.path / HISTORY_FILE, finite({"history": [asdict(record) for record in fitted.history]}))
        metrics = finite(
            {
                **describe(trained),
                **evaluate_on(trained, self.split),
                "objective": min(fitted.objectives),
                "objectives": fitted.objectives,
                "steps": fitted.steps,
                "seconds": fitted.seconds,
                "minutes": fitted.seconds / 60,
                "cpu_seconds": fitted.cpu_seconds,
            }
        )
        write_record(self.path / METRICS_FILE, metrics)
        self.clean()
        return metrics

    def clean(self) -> None:
        """Remove what a finished run needs no more, and what a kill left half-written."""
        for path in [self.path / CHECKPOINT_FILE, *self.path.glob("*.partial")]:
            path.unlink(missing_ok=True)


def start_run(path: Path, request: Request, on_download: Report = tell_nobody, devices: int = 1) -> Run:
    """Make a new run folder, for a first session on so many devices; one that exists already is refused."""
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists already; choose another folder, or go on with that run (--resume)")
    if request.data is None:
        raise UserError(f"{path} does not exist yet, and a new run needs a data set (--data)")
    recipe = load_recipe(request.recipe or find_source(request.data).default_recipe, request.overrides)
    split = load_split(request.data, request.labels, request.seed or 0, request.data_dir, on_download)
    check_fit(recipe, split, devices)
    _make_folder(
        path,
        {
            RECIPE_FILE: recipe_to_toml(recipe),
            SPLIT_FILE: json.dumps(
                {
                    "data": split.name,
                    "labels": split.labelled,
                    "seed": split.seed,
                    "labelled_rows": _labelled_rows(split),
                }
            )
            + "\n",
        },
    )
    return Run(path, recipe, split)


def resume_run(path: Path, request: Request, on_download: Report = tell_nobody) -> Run:
    """Open a run folder to go on with it; a request for anything else than what it holds is refused."""
    for name in (RECIPE_FILE, SPLIT_FILE):
        if not (path / name).is_file():
            raise UserError(f"{path} is no run folder: it holds no {name}")
    stored = _read_split(path / SPLIT_FILE)
    for key in ("data", "labels", "seed"):
        asked = getattr(request, key)
        if asked is not None and asked != stored.get(key):
            raise UserError(f"{path} was started with {key} = {stored.get(key)}, not {asked}")
    recipe = load_recipe(path / RECIPE_FILE)
    if request.recipe is not None or request.overrides:
        _refuse_other_recipe(path, recipe, load_recipe(request.recipe or path / RECIPE_FILE, request.overrides))
    split = load_split(stored["data"], stored["labels"], stored["seed"], request.data_dir, on_download)
    if _labelled_rows(split) != stored.get("labelled_rows"):
        raise UserError(f"{path / SPLIT_FILE} names other labelled rows than {stored['data']!r} has here")
    return Run(path, recipe, split)


def check_fit(recipe: Recipe, split: Split, devices: int = 1) -> None:
    """Refuse what could only fail: no model for the data, no training on them, or not on so many devices.

    A folder that such a run left behind would stand in the way of the right one.
    """
    classes = len(split.classes)
    try:
        build_model(recipe.model, split.x_train.shape[1:], classes, torch.ones(classes))
    except ValueError as error:
        raise UserError(f"recipe {recipe.name!r} does not suit data set {split.name!r}: {error}") from error
    if devices > 1:
        check_devices(devices)
    check_training(recipe.training, TrainingData.of(split), devices)


def _labelled_rows(split: Split) -> list[int]:
    return [int(row) for row in np.flatnonzero(split.y_train >= 0)]


def _read_split(path: Path) -> dict[str, Any]:
    stored = _read_json(path)
    for key, kind in {"data": str, "labels": int, "seed": int, "labelled_rows": list}.items():
        if not isinstance(stored.get(key), kind):
            raise UserError(f"{path} is damaged: it does not tell the run's {key}")
    return stored


def _make_folder(path: Path, files: dict[str, str]) -> None:
    """Make a folder with its files, all at once: they are written beside it, and a rename puts them in place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary.mkdir()
    try:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _refuse_other_recipe(path: Path, recipe: Recipe, asked: Recipe) -> None:
    here, there = _flat(asked.model_dump(mode="json")), _flat(recipe.model_dump(mode="json"))
    for key in {**there, **here}:
        if here.get(key) != there.get(key):
            raise UserError(f"{path} was started with {key} = {there.get(key)!r}, not {here.get(key)!r}")


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested tables under dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} is damaged: it holds no JSON object")
    return values
