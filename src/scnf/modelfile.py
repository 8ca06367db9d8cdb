"""A trained model: what it says of rows in the data's own units, and its file.

The file holds weights, recipe, classes, the shape of the data and, for tables, their columns, all in safetensors.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scnf.data.batches import middles
from scnf.data.rows import RowFormat, array_rows
from scnf.errors import UserError
from scnf.evaluation.metrics import log_joint_of, rows_in_a_batch
from scnf.model import SemiConditionalFlow
from scnf.recipes.build import build_model
from scnf.recipes.schema import PositiveInt, Recipe
from scnf.shipped import shipped_file
from scnf.tables import Table, TableEncoder, TableSchema
from scnf.tensorfile import FileFormatError, pack_tensors, read_tensors, unpack_tensors, write_tensors

MODEL_FILE = "model.safetensors"
_FORMAT = 2  # 1 had neither columns of a table nor a temperature
_KEYS = ("format", "recipe", "shape", "classes", "levels", "data")


class _Header(BaseModel):
    """What a model's file says beside its recipe and weights."""

    model_config = ConfigDict(strict=True)

    format: Annotated[int, Field(description="a whole number")]
    shape: Annotated[list[PositiveInt], Field(min_length=1, description="a list of sizes")]
    classes: Annotated[list[str], Field(min_length=1, description="a list of names")]
    levels: Annotated[Annotated[int, Field(ge=2)] | None, Field(description="null or a number from 2 up")]
    data: Annotated[dict[str, Any], Field(description="an object")]
    table: Annotated[TableSchema | None, Field(description="null or the columns of a table")] = None
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False, description="a number above 0")] = 1.0
    densities: Annotated[
        list[Annotated[float, Field(allow_inf_nan=False)]], Field(description="a list of log-densities")
    ] = []


class Prediction(NamedTuple):
    """What a model says of rows: names of labels ``[N]``, probabilities of classes ``[N, K]`` and log p(x) ``[N]``."""

    label: np.ndarray
    probabilities: np.ndarray
    log_density: np.ndarray


@dataclass
class TrainedModel:
    """A model and all that is needed to use it.

    ``levels`` is set if the model's data are integers to be dequantised; ``data`` tells what it was trained on (name,
    number of labels and seed of a split). ``predict`` and ``sample`` take and give rows as the data have them, such as
    uint8 images, or tables of the columns in ``table`` if that is set; ``model`` is what lies below, on tensors that
    are dequantised or encoded already. Probabilities are softmax(log p(x, y) / ``temperature``). ``densities`` are
    log p(x) of training rows at quantiles from 0 to 1 in even steps.

    Example:
        >>> import scnf
        >>> split = scnf.load_split("moons")
        >>> recipe = scnf.load_recipe("toy", {"training.steps": 2})
        >>> flow = scnf.fit(recipe, scnf.TrainingData.of(split)).model
        >>> moons = scnf.TrainedModel(flow, recipe, split.classes)
        >>> moons.predict(split.x_test).probabilities.shape
        (500, 2)
        >>> x, label = moons.sample(3, "upper")
        >>> x.shape, label.tolist()
        ((3, 2), ['upper', 'upper', 'upper'])
    """

    model: SemiConditionalFlow
    recipe: Recipe
    classes: tuple[str, ...]
    levels: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    table: TableSchema | None = None
    temperature: float = 1.0
    densities: tuple[float, ...] = ()

    @cached_property
    def encoder(self) -> TableEncoder:
        """What turns tables into the rows that the model takes."""
        if self.table is None:
            raise UserError("the model was trained on arrays, not on a table")
        return TableEncoder(self.table)

    @cached_property
    def exact(self) -> SemiConditionalFlow:
        """The model in 64 bits: a row then gets the same answer whatever rows stand beside it."""
        return copy.deepcopy(self.model).double()

    @property
    def row_format(self) -> RowFormat:
        """What rows must look like."""
        return RowFormat(self.model.shape, self.levels)

    def log_joint(self, x: Any, seed: int = 0) -> torch.Tensor:
        """Return log p(x, y=k) in the data's own units, ``[N, K]``, of an array of rows or of a table.

        Images are dequantised with noise by ``seed``; a table's whole numbers and names stand at the middle of theirs.
        """
        if self.table is None:
            rows = np.concatenate(list(array_rows("x", np.asarray(x), self.row_format)))
            return log_joint_of(self.model, torch.from_numpy(rows), self.levels, seed=seed)
        z, log_volume = self.encoder.encode_with_volume(Table.of(x), seed=None)
        return log_joint_of(self.exact, torch.from_numpy(z).double()) + torch.from_numpy(log_volume)[:, None]

    def rows(self, x: Any) -> torch.Tensor:
        """Return an array of rows or a table as ``exact`` takes it: at the middle of whole numbers and names."""
        if self.table is not None:
            return torch.from_numpy(self.encoder.encode(Table.of(x), seed=None)).double()
        rows = torch.from_numpy(np.concatenate(list(array_rows("x", np.asarray(x), self.row_format)))).double()
        return rows if self.levels is None else middles(rows, self.levels)

    def predict(self, x: Any) -> Prediction:
        """Return labels, probabilities and log-densities of an array of rows, or of a table, in one pass."""
        if self.table is not None:
            return next(self.predict_batches([x]))
        parts = self.predict_batches(array_rows("x", np.asarray(x), self.row_format))
        return Prediction(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def predict_batches(self, batches: Iterable[Any]) -> Iterator[Prediction]:
        """Yield the prediction for each batch of rows."""
        names = np.array(self.classes)
        for batch, rows in enumerate(batches):
            # Every batch is dequantised with noise of its own; the first as in ``scnf evaluate``.
            log_joint = self.log_joint(rows, seed=batch)
            label, probabilities = log_joint.argmax(1), (log_joint / self.temperature).softmax(1)
            yield Prediction(names[label.numpy()], probabilities.numpy(), log_joint.logsumexp(1).numpy())

    def outlier_density(self, share: float) -> float:
        """Return the log-density that this share of the training rows lies below: rows below it are unusual."""
        if not self.densities:
            raise UserError("the model's file does not tell how dense its training rows are; fit the model again")
        if not 0 < share < 1:
            raise UserError(f"the share of rows to call unusual must lie between 0 and 1, got {share:g}")
        return float(np.quantile(self.densities, share))

    def sample(
        self, n: int, label: str | None = None, temperature: float = 1.0, seed: int = 0
    ) -> tuple[Any, np.ndarray]:
        """Draw n rows and the names of their labels, of one class or from p(y); the same seed gives the same rows."""
        x, labels = zip(*self._draw(n, label, temperature, seed), strict=True)
        return self.in_units_of_data(torch.cat(x)), np.concatenate(labels)

    def sample_batches(
        self, n: int, label: str | None = None, temperature: float = 1.0, seed: int = 0
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """Return the same, batch by batch."""
        return ((self.in_units_of_data(x), names) for x, names in self._draw(n, label, temperature, seed))

    def _draw(
        self, n: int, label: str | None, temperature: float, seed: int
    ) -> Iterator[tuple[torch.Tensor, np.ndarray]]:
        if n < 1:
            raise UserError(f"the number of samples must be at least 1, got {n}")
        if not 0 <= seed < 2**32:
            raise UserError(f"seed must lie between 0 and {2**32 - 1}, got {seed}")
        if label is not None and label not in self.classes:
            raise UserError(f"unknown label {label!r}; the model has {', '.join(self.classes)}")
        y = None if label is None else self.classes.index(label)
        return self._draw_checked(n, y, temperature, seed)

    def _draw_checked(
        self, n: int, y: int | None, temperature: float, seed: int
    ) -> Iterator[tuple[torch.Tensor, np.ndarray]]:
        names, size = np.array(self.classes), rows_in_a_batch(self.model.dimensions)
        for batch, start in enumerate(range(0, n, size)):
            with torch.random.fork_rng():
                torch.manual_seed(seed * 1_000_003 + batch)
                x, labels = self.model.sample(min(size, n - start), y, temperature)
            yield x.cpu(), names[labels.cpu().numpy()]

    def in_units_of_data(self, x: torch.Tensor) -> Any:
        """Return rows as the data have them: an array, or a table if the model was trained on one."""
        if self.table is not None:
            return self.encoder.decode(x.numpy())
        if self.levels is None:
            return x.numpy()
        whole = (x * self.levels).floor().clamp(0, self.levels - 1)
        return whole.to(torch.uint8 if self.levels <= 256 else torch.int32).numpy()

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        write_tensors(path, self.model.state_dict(), self._values())

    def to_bytes(self) -> bytes:
        """Return what ``save`` would write."""
        return pack_tensors(self.model.state_dict(), self._values())

    def _values(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "kind": "model",
            "recipe": self.recipe.model_dump(mode="json"),
            "shape": list(self.model.shape),
            "classes": list(self.classes),
            "levels": self.levels,
            "data": self.data,
            "table": None if self.table is None else self.table.model_dump(mode="json"),
            "temperature": self.temperature,
            "densities": list(self.densities),
        }


def find_model(name_or_path: str | Path) -> Path:
    """Return the file of a model: what is at the path, a run folder or a file, or else the shipped one of that name."""
    path = Path(name_or_path)
    if not path.is_dir():
        return path if path.exists() else shipped_file(str(name_or_path))
    if not (path / MODEL_FILE).is_file():
        raise FileNotFoundError(f"{path} holds no {MODEL_FILE}: the run did not finish, or it is no run folder")
    return path / MODEL_FILE


def load(name_or_path: str | Path) -> TrainedModel:
    """Read the model of a run folder, a model file, or a model that comes with the package, by its name.

    What is there under the path comes first. Nothing in the file is ever executed.
    """
    path = find_model(name_or_path)
    return _model_of(str(path), *read_tensors(path))


def from_bytes(data: bytes, source: str = "the model") -> TrainedModel:
    """Return the model of what ``to_bytes`` returned."""
    return _model_of(source, *unpack_tensors(data, source))


def _model_of(path: str, tensors: dict[str, torch.Tensor], values: dict[str, Any]) -> TrainedModel:
    header = _read_header(path, values)
    try:
        recipe = Recipe.model_validate(values["recipe"])
    except ValidationError as error:
        raise FileFormatError(f"{path} holds a recipe that this version of scnf does not know") from error
    classes, shape = tuple(header.classes), tuple(header.shape)
    try:
        # The label prior is among the weights; any will do to build the model.
        model = build_model(recipe.model, shape, len(classes), torch.ones(len(classes)))
    except (ValueError, RuntimeError) as error:  # RuntimeError: a shape beyond all memory
        raise FileFormatError(f"{path} is damaged: its recipe makes no model for rows of shape {shape}") from error
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise FileFormatError(f"{path} does not hold the weights of its own recipe") from error
    trained = TrainedModel(
        model.eval(),
        recipe,
        classes,
        header.levels,
        header.data,
        header.table,
        header.temperature,
        tuple(header.densities),
    )
    if header.table is not None and (trained.encoder.features,) != shape:
        raise FileFormatError(f"{path} is damaged: its columns make no rows of shape {shape}")
    return trained


def _read_header(path: str, values: dict[str, Any]) -> _Header:
    version = values.get("format")
    # Before all else: a newer format may have other keys.
    if isinstance(version, int) and version > _FORMAT:
        raise FileFormatError(f"{path} has format {version}; this version of scnf reads up to {_FORMAT}")
    if values.get("kind") != "model":
        raise FileFormatError(f"{path} is a checkpoint, not a model")
    if missing := [key for key in _KEYS if key not in values]:
        raise FileFormatError(f"{path} is damaged: it lacks {', '.join(missing)}")
    try:
        return _Header.model_validate(values)
    except ValidationError as error:
        key = error.errors()[0]["loc"][0]
        right = _Header.model_fields[str(key)].description
        raise FileFormatError(f"{path} is damaged: {key} should be {right}, not {values[str(key)]!r}") from error
