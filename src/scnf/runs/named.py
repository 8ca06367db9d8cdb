"""Runs on data sets that have a name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scnf.data import Split, find_source
from scnf.data import load as load_split
from scnf.data.published import Report, tell_nobody
from scnf.errors import UserError
from scnf.evaluation.trained import evaluate_on
from scnf.modelfile import TrainedModel
from scnf.recipes import load_recipe, recipe_to_toml
from scnf.runs.folder import (
    RECIPE_FILE,
    SPLIT_FILE,
    make_folder,
    read_split_file,
    refuse_existing,
    refuse_other_recipe,
)
from scnf.runs.run import Run, check_fit
from scnf.tables import TableSchema
from scnf.training import TrainingData


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
class NamedData:
    """The split of a data set that has a name."""

    split: Split
    table: TableSchema | None = None
    # The metrics of these data are compared with others' that were not calibrated.
    calibrated: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"data set {self.split.name!r}"

    @property
    def seed(self) -> int:
        """The seed of the split, which is the run's."""
        return self.split.seed

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.split.classes

    def training(self) -> TrainingData:
        """Return the rows to learn from."""
        return TrainingData.of(self.split)

    def training_rows(self) -> np.ndarray:
        """Return the same rows as the data have them."""
        return self.split.x_train

    def told(self) -> dict[str, Any]:
        """Return name of the data set, number of labels and seed of the split."""
        return {"name": self.split.name, "labels": self.split.labelled, "seed": self.split.seed}

    def measure(self, trained: TrainedModel) -> dict[str, Any]:
        """Return the metrics on the test rows."""
        return dict(evaluate_on(trained, self.split))


def start_run(path: Path, request: Request, on_download: Report = tell_nobody, devices: int = 1) -> Run:
    """Make a new run folder, for a first session on so many devices; one that exists already is refused."""
    refuse_existing(path)
    if request.data is None:
        raise UserError(f"{path} does not exist yet, and a new run needs data: a file, --image-folder or --data")
    recipe = load_recipe(request.recipe or find_source(request.data).default_recipe, request.overrides)
    split = load_split(request.data, request.labels, request.seed or 0, request.data_dir, on_download)
    data = NamedData(split)
    check_fit(recipe, data, devices)
    stored = {
        "data": split.name,
        "labels": split.labelled,
        "seed": split.seed,
        "labelled_rows": _labelled_rows(split),
    }
    make_folder(path, {RECIPE_FILE: recipe_to_toml(recipe), SPLIT_FILE: json.dumps(stored) + "\n"})
    return Run(path, recipe, data)


def resume_run(path: Path, request: Request, on_download: Report = tell_nobody) -> Run:
    """Open a run folder to go on with it; a request for anything else than what it holds is refused."""
    stored = read_split_file(path)
    for key, kind in {"data": str, "labels": int, "seed": int, "labelled_rows": list}.items():
        if not isinstance(stored.get(key), kind):
            raise UserError(f"{path / SPLIT_FILE} is damaged: it does not tell the run's {key}")
    for key in ("data", "labels", "seed"):
        asked = getattr(request, key)
        if asked is not None and asked != stored.get(key):
            raise UserError(f"{path} was started with {key} = {stored.get(key)}, not {asked}")
    recipe = load_recipe(path / RECIPE_FILE)
    if request.recipe is not None or request.overrides:
        refuse_other_recipe(path, recipe, load_recipe(request.recipe or path / RECIPE_FILE, request.overrides))
    split = load_split(stored["data"], stored["labels"], stored["seed"], request.data_dir, on_download)
    if _labelled_rows(split) != stored.get("labelled_rows"):
        raise UserError(f"{path / SPLIT_FILE} names other labelled rows than {stored['data']!r} has here")
    return Run(path, recipe, NamedData(split))


def _labelled_rows(split: Split) -> list[int]:
    return [int(row) for row in np.flatnonzero(split.y_train >= 0)]
