"""A run in its folder, whatever it learns from."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from scnf.errors import DivergedError, UserError
from scnf.evaluation.records import finite, write_record
from scnf.evaluation.trained import describe
from scnf.fitting import FittedModel, OnStage, fit_model
from scnf.jsonfile import read_json
from scnf.modelfile import MODEL_FILE, TrainedModel
from scnf.recipes import Recipe
from scnf.recipes.build import build_model
from scnf.runs.folder import (
    CHECKPOINT_FILE,
    HISTORY_FILE,
    LAST_GOOD_FILE,
    METRICS_FILE,
    alone_in,
    remove_lock_file,
)
from scnf.tables import TableSchema
from scnf.training import OnRecord, OnStep, TrainingData
from scnf.training.check import check_training
from scnf.training.devices import check_devices


class RunData(Protocol):
    """What a run learns from: its rows, as the model takes them and as people have them, and what to measure."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def table(self) -> TableSchema | None:
        """The columns, if the rows are those of a table."""

    @property
    def calibrated(self) -> bool:
        """Whether a temperature is found."""

    def training(self) -> TrainingData:
        """Return the rows to learn from."""

    def training_rows(self) -> Any:
        """Return the same rows as ``TrainedModel.log_joint`` takes them."""

    def told(self) -> dict[str, Any]:
        """Return what the model's file says of them."""

    def measure(self, trained: TrainedModel) -> dict[str, Any]:
        """Return the metrics on the test rows, if there are any."""


@dataclass(frozen=True)
class Run:
    """A run folder with its recipe and its data."""

    path: Path
    recipe: Recipe
    data: RunData

    def metrics(self) -> dict[str, Any] | None:
        """Return what came out, or None while the run is unfinished."""
        path = self.path / METRICS_FILE
        return read_json(path) if path.is_file() else None

    def train(
        self,
        on_step: OnStep = lambda *_: None,
        checkpoint_seconds: float = 20.0,
        devices: int = 1,
        on_record: OnRecord = lambda record: None,
        on_stage: OnStage = lambda stage: None,
        on_calibration_step: OnStep = lambda *_: None,
    ) -> dict[str, Any]:
        """Train from the start or from the last checkpoint, write the results and return the metrics.

        A folder in which another session is training is refused.
        """
        with alone_in(self.path):
            return self._train(
                on_stage,
                on_calibration_step,
                on_step=on_step,
                on_record=on_record,
                checkpoint_seconds=checkpoint_seconds,
                devices=devices,
            )

    def _train(self, on_stage: OnStage, on_calibration_step: OnStep, **options: Any) -> dict[str, Any]:
        data = self.data
        try:
            done = fit_model(
                self.recipe,
                data.training(),
                data.training_rows(),
                data.classes,
                data.seed,
                data.table,
                data.told(),
                data.calibrated,
                on_stage,
                on_calibration_step,
                checkpoint=self.path / CHECKPOINT_FILE,
                resume=True,
                **options,
            )
        except DivergedError as error:
            raise DivergedError(f"{error} in {self._keep_last_good(error)}") from error
        trained, fitted = done.model, done.training
        trained.save(self.path / MODEL_FILE)
        write_record(self.path / HISTORY_FILE, finite({"history": [asdict(record) for record in fitted.history]}))
        metrics = finite(
            {
                **describe(trained),
                **data.measure(trained),
                **_on_hidden_labels(done),
                "objective": min(fitted.objectives),
                **fitted.course,
                "seconds": fitted.seconds,
                "minutes": fitted.seconds / 60,
                "cpu_seconds": fitted.cpu_seconds,
            }
        )
        write_record(self.path / METRICS_FILE, metrics)
        self.clean()
        return metrics

    def _keep_last_good(self, error: DivergedError) -> Path:
        assert error.model is not None
        data, path = self.data, self.path / LAST_GOOD_FILE
        TrainedModel(error.model, self.recipe, data.classes, data.training().levels, data.told(), data.table).save(path)
        return path

    def clean(self) -> None:
        """Remove what a finished run needs no more, and what a kill left half-written."""
        for path in [self.path / CHECKPOINT_FILE, *self.path.glob("*.partial")]:
            path.unlink(missing_ok=True)
        remove_lock_file(self.path)


def _on_hidden_labels(done: FittedModel) -> dict[str, float]:
    if not done.told:
        return {}
    return {"hidden_labels": done.told, "hidden_label_error": 100 * (1 - done.right / done.told)}


def check_fit(recipe: Recipe, data: RunData, devices: int = 1) -> None:
    """Refuse what could only fail: no model for the data, no training on them, or not on so many devices.

    A folder that such a run left behind would stand in the way of the right one.
    """
    rows, classes = data.training(), len(data.classes)
    try:
        build_model(recipe.model, rows.shape, classes, torch.ones(classes))
    except ValueError as error:
        raise UserError(f"recipe {recipe.name!r} does not suit {data.name}: {error}") from error
    if devices > 1:
        check_devices(devices)
    check_training(recipe.training, rows, devices)
