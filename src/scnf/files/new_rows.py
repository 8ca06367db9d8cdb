"""Rows of a file or of a folder of images for a model that is there, batch by batch: memory does not grow with them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scnf.data.rows import RowFormat, array_rows
from scnf.errors import UserError
from scnf.evaluation.metrics import rows_in_a_batch
from scnf.files.notes import Labels, image_format, target_of
from scnf.modelfile import TrainedModel
from scnf.tables import Notes, Table, open_table, split_target
from scnf.tables.array_files import load_arrays
from scnf.tables.matching import numbers_of

FILE_COLUMN = "file"  # the key of an image


class Batch(NamedTuple):
    """Rows as ``TrainedModel.log_joint`` takes them, columns that go through, labels (None where there is none)."""

    x: Any
    kept: dict[str, np.ndarray]
    labels: np.ndarray | None


class NewRows(ABC):
    """Rows of a file; ``rows`` is None if only reading all of them would tell how many there are.

    ``notes`` tells what was passed over in the rows that have been read.
    """

    def __init__(self, path: Path, trained: TrainedModel):
        self.path, self.trained = path, trained
        self.notes = Notes()
        self.size = rows_in_a_batch(trained.model.dimensions)

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """Number of rows."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Yield the rows."""


def open_rows(path: Path, trained: TrainedModel, keep: Collection[str] = (), target: str | None = None) -> NewRows:
    """Open a file or a folder of images for a model.

    ``keep`` names columns that go through; ``target`` is the column of labels to read, if they are wanted.
    """
    if path.is_dir():
        return _ImageRows(path, trained, keep)
    if trained.table is None and path.suffix.lower() in (".npy", ".npz"):
        return _ArrayRows(path, trained, keep, target)
    return _TableRows(path, trained, keep, target)


def label_column(path: Path, trained: TrainedModel, target: str | None = None) -> str | None:
    """Return the column of labels in a file: the one that is named, or that of training; folders have none."""
    column = target or target_of(trained)
    if column is None and not path.is_dir():
        if path.suffix.lower() != ".npz":
            raise UserError(f"which column of {path} holds the labels? --target COLUMN says it")
        column = "y"
    return column


class _TableRows(NewRows):
    """Rows of a table; for a model of arrays its columns are taken as they stand."""

    def __init__(self, path: Path, trained: TrainedModel, keep: Collection[str], target: str | None):
        super().__init__(path, trained)
        self.keep, self.target = tuple(keep), target
        schema = trained.table
        # What goes through stays as it is written there, be it 007; and so do labels that are names.
        named = (target,) if target is not None and Labels.of(trained).values.dtype == object else ()
        self.file = open_table(path, (*(() if schema is None else schema.text_columns), *self.keep, *named))

    @property
    def rows(self) -> int | None:
        return self.file.rows

    def batches(self) -> Iterator[Batch]:
        empty = True
        for table in self.file.batches(self.size):
            empty = False
            labels = None if self.target is None else split_target(table, self.target, _marker(self.trained))[1]
            kept = dict(table.select(self.keep).columns) if self.keep else {}
            features = self._features(table)
            if self.trained.table is not None:
                self.notes = self.notes.joined(self.trained.encoder.notes(features))
                yield Batch(features, kept, labels)
            else:
                yield Batch(_as_array(features, self.trained.row_format), kept, labels)
        if empty:
            raise UserError(f"{self.path} holds no rows")

    def _features(self, table: Table) -> Table:
        """Return a table without the columns that are known to be no features."""
        schema = self.trained.table
        known = target_of(self.trained)
        named = [name for name in (known, self.target) if name is not None]
        others = {*self.trained.data.get("ignored", ()), *self.keep, *named}
        if schema is None:
            return table.without([*self.keep, *([] if self.target is None else [self.target])])
        if schema.named and table.named:
            return table.without(others - set(schema.names))
        # Columns without names are met by position, so one may only go if it is too many.
        too_many = len(table.names) - len(schema.columns)
        return table.without(others) if too_many > 0 else table


class _ArrayRows(NewRows):
    """Rows of an array for a model of arrays: vectors or images."""

    def __init__(self, path: Path, trained: TrainedModel, keep: Collection[str], target: str | None):
        super().__init__(path, trained)
        if keep:
            raise UserError(f"{path} holds an array, which has no columns to keep (--id)")
        self.x, y = load_arrays(path)
        self.labels: np.ndarray | None = None
        if target is not None:
            if y is None or target != "y" or y.shape != self.x.shape[:1]:
                raise UserError(f"{path} must hold the labels as an array y, one for each of its rows")
            self.labels = split_target(Table.of({"y": y}), "y", _marker(trained))[1]

    @property
    def rows(self) -> int:
        return len(self.x)

    def batches(self) -> Iterator[Batch]:
        images = image_format(self.trained)
        if not len(self.x):
            raise UserError(f"{self.path} holds no rows")
        for start in range(0, len(self.x), self.size):
            part = np.asarray(self.x[start : start + self.size])
            if images is not None and images.shares:
                rows = images.to_rows(part)
            else:
                rows = np.concatenate(list(array_rows(str(self.path), part, self.trained.row_format, start)))
            labels = None if self.labels is None else self.labels[start : start + self.size]
            yield Batch(rows, {}, labels)


class _ImageRows(NewRows):
    """Images in a folder; those in the folder of a class have its label."""

    def __init__(self, path: Path, trained: TrainedModel, keep: Collection[str]):
        super().__init__(path, trained)
        from scnf.tables.images import list_image_folder  # noqa: PLC0415 (loads Pillow)

        if len(trained.model.shape) != 3:
            raise UserError(f"{path} is a folder, but the model was not trained on images")
        if keep:
            raise UserError(f"{path} is a folder of images, which have no columns to keep (--id)")
        self.files, self.labels = list_image_folder(path)

    @property
    def rows(self) -> int:
        return len(self.files)

    def batches(self) -> Iterator[Batch]:
        for start in range(0, len(self.files), self.size):
            files = self.files[start : start + self.size]
            names = np.array([file.relative_to(self.path).as_posix() for file in files], dtype=object)
            images = np.stack([self._read(file) for file in files])
            yield Batch(images, {FILE_COLUMN: names}, self.labels[start : start + self.size])

    def _read(self, file: Path) -> np.ndarray:
        from scnf.tables.images import read_image  # noqa: PLC0415

        shape, data = self.trained.model.shape, self.trained.data
        stretched, recolored = data.get("stretched"), data.get("recolored")
        # Files from before the second was kept: what was stretched was made grey or coloured, too.
        color = shape[0] == 3 if recolored or (stretched and recolored is None) else None
        image = read_image(file, (shape[1], shape[2]) if stretched else None, color)
        if image.shape != shape:
            found, right = ("×".join(map(str, one)) for one in (image.shape, shape))
            raise UserError(f"{file} has {found} values (channels×height×width), but the model takes {right}")
        levels = self.trained.levels or 256
        if int(image.max()) >= levels:
            raise UserError(f"{file} has values up to {image.max()}, but the model was trained on 0 to {levels - 1}")
        return image


def _marker(trained: TrainedModel) -> Any:
    """Return what marked rows without a label in training."""
    return trained.data.get("estimator", {}).get("unlabeled")


def _as_array(table: Table, expected: RowFormat) -> np.ndarray:
    _check_columns(table, expected)
    for name in table.unusable:
        table.select([name])
    columns = [numbers_of(table, name).astype(np.float64) for name in table.names]
    batches = array_rows(table.source, np.stack(columns, axis=1), expected, table.first_row, table.names)
    return np.concatenate(list(batches))


def _check_columns(table: Table, expected: RowFormat) -> None:
    """Refuse another number of columns than a row has values; what is in them would not matter then."""
    found = len(table.names) + len(table.unusable)
    if found == expected.columns:
        return
    if len(expected.shape) == 3:
        size = "×".join(map(str, expected.shape[1:]))
        raise UserError(
            f"the model was trained on {size} images, but {table.source} is a table, with {found} columns where "
            f"pixels would make {expected.columns}"
        )
    raise UserError(f"{table.source}: the number of columns is {found}, but the model takes {expected.columns}")
