"""The rows of people's files as a run learns from them and is measured on them."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from scnf.data.labels import UNLABELED
from scnf.errors import UserError
from scnf.estimator.images import ImageFormat
from scnf.estimator.labels import LabelType, names_of, read_labels, type_of
from scnf.files.measuring import measure
from scnf.files.notes import Labels, notes_of_files
from scnf.files.source import FileMark, FileSource
from scnf.files.split import choose_test_rows
from scnf.modelfile import TrainedModel
from scnf.tables import Table, TableEncoder, TableSchema, open_table, split_target
from scnf.tables.array_files import load_arrays
from scnf.tables.table import listed
from scnf.training import TrainingData

_FEWEST_ROWS = 10
_ARRAYS = (".npy", ".npz")


@dataclass(frozen=True)
class Rows:
    """Rows as people have them, a table or images ``[N, ...]``, and their labels ``[N]``, None where there is none.

    ``numbers`` ``[N]`` count the rows of the file, or the images of the folder, from 0.
    """

    x: Any
    labels: np.ndarray
    numbers: np.ndarray

    @classmethod
    def all(cls, x: Any, labels: np.ndarray) -> "Rows":
        """Return all rows of a file."""
        return cls(x, labels, np.arange(len(labels)))

    def __getitem__(self, rows: np.ndarray) -> "Rows":
        return Rows(self.x[rows], self.labels[rows], self.numbers[rows])


@dataclass(frozen=True)
class FileData:
    """The rows of a file or folder to learn from, encoded, and those to test on."""

    source: FileSource
    classes: tuple[str, ...]
    label_type: LabelType
    train: Rows
    codes: np.ndarray
    encoder: TableEncoder | None = None
    images: ImageFormat | None = None
    test: Rows | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.source.rows.place)

    @property
    def seed(self) -> int:
        """The seed of the training, drawn as ``SCNFClassifier`` draws it from its ``random_state``."""
        return int(check_random_state(self.source.seed).randint(2**31 - 1))

    @property
    def table(self) -> TableSchema | None:
        """The columns, if the rows are those of a table."""
        return None if self.encoder is None else self.encoder.schema

    @property
    def calibrated(self) -> bool:
        """Whether a temperature is found."""
        return self.source.calibrated

    @property
    def labelled(self) -> int:
        """Number of training rows that have a label."""
        return int((self.codes >= 0).sum())

    def training(self) -> TrainingData:
        """Return the rows to learn from."""
        levels = None if self.images is None else self.images.levels
        return TrainingData(self._encoded, torch.from_numpy(self.codes), len(self.classes), levels)

    @cached_property
    def _encoded(self) -> torch.Tensor:
        # Dequantised once, as the estimator does it.
        x = self.train.x if self.encoder is None else self.encoder.encode(self.train.x, seed=0)
        return torch.from_numpy(np.ascontiguousarray(x))

    def training_rows(self) -> Any:
        """Return the same rows as a table or images."""
        return self.train.x

    def told(self) -> dict[str, Any]:
        """Return what the model's file says of them."""
        counts = {"rows": len(self.codes), "labels": self.labelled}
        return {**notes_of_files(self.source, self.label_type, self.images), **counts}

    def measure(self, trained: TrainedModel) -> dict[str, Any]:
        """Return the metrics on the test rows; none are claimed where there are none."""
        if self.test is None:
            return {}
        return measure(trained, [(self.test.x, Labels.of(trained).codes(self.test.labels))])


def read_files(source: FileSource) -> FileData:
    """Read the files of a run; what cannot be learned from is refused."""
    rows, images = _read(source, source.rows, ())
    path = source.rows.place
    if isinstance(rows.x, Table):
        rows = replace(rows, x=_without_ignored(rows.x, source))
    place = str(path) if source.target is None else f"{path}, column {source.target!r}"
    classes, codes = _classes(rows.labels, place)
    test: Rows | None = None
    if source.test_share is not None:
        mask = choose_test_rows(codes, source.test_share, source.seed)
        if not mask.any():
            raise UserError(f"--test-share {source.test_share:g} of {len(codes)} rows is less than one row")
        rows, test, codes = rows[~mask], rows[mask], codes[~mask]
    if len(codes) < _FEWEST_ROWS:
        raise UserError(f"{path} has {len(codes)} rows to learn from; {_FEWEST_ROWS} are the least")
    encoder = TableEncoder.fit(rows.x, source.kinds) if images is None else None
    if source.test is not None:
        text = () if encoder is None else encoder.schema.text_columns
        if type_of(classes) == "str" and source.target is not None:
            text = (*text, source.target)  # 02 is a name there, too
        test, test_images = _read(source, source.test, text, images)
        _check_alike(source.test, images, test_images)
        if isinstance(test.x, Table):
            test = replace(test, x=test.x.without(source.ignored))
    if encoder is not None and test is not None:
        encoder.encode(test.x, seed=None)  # refuses what does not fit, before anything is trained
    return FileData(source, names_of(classes), type_of(classes), rows, codes, encoder, images, test)


def _read(
    source: FileSource, mark: FileMark, text: tuple[str, ...], expected: ImageFormat | None = None
) -> tuple[Rows, ImageFormat | None]:
    """Return the rows of a file, and what its images look like; they must be such as are expected, if any are."""
    path = mark.place
    if source.kind == "images":
        from scnf.tables.images import read_image_folder  # noqa: PLC0415 (loads Pillow)

        found = read_image_folder(path, source.image_size, source.image_color)
        return Rows.all(found.images, found.labels), ImageFormat.of(found.images)
    assert source.target is not None
    if path.suffix.lower() in _ARRAYS:
        x, y = load_arrays(path)
        if x.ndim in (3, 4):
            return _image_arrays(path, np.asarray(x), y, source, expected)
    table = open_table(path, text).read()
    if not len(table):
        raise UserError(f"{path} holds no rows")
    features, labels = split_target(table, source.target, source.unlabeled)
    return Rows.all(features, labels), None


def _without_ignored(table: Table, source: FileSource) -> Table:
    for name in source.ignored:
        if name not in (*table.names, *table.unusable):
            raise UserError(
                f"{table.source}: there is no column {name!r} to ignore; the columns are {listed(table.names)}"
            )
    return table.without(source.ignored)


def _image_arrays(
    path: Path, x: np.ndarray, y: np.ndarray | None, source: FileSource, expected: ImageFormat | None
) -> tuple[Rows, ImageFormat | None]:
    if source.target != "y" or y is None:
        raise UserError(f"{path} holds images; their labels must be an array y beside them, named by --target y")
    if y.shape != x.shape[:1]:
        raise UserError(f"{path} has {len(x)} images in x, but y has the shape {y.shape}")
    _, labels = split_target(Table.of({"y": y}), "y", source.unlabeled)
    # Levels are those of training: what is brighter than all images there is refused.
    images = ImageFormat.of(x) if expected is None else replace(expected, shape=tuple(x.shape[1:]))
    try:
        return Rows.all(images.to_rows(x), labels), images
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _classes(labels: np.ndarray, place: str) -> tuple[np.ndarray, np.ndarray]:
    if all(label is None for label in labels.tolist()):
        raise UserError(f"{place} has no label in {len(labels)} rows; some rows of each class must have one")
    classes, codes = read_labels(labels, None)
    if len(classes) < 2:
        count = int((codes != UNLABELED).sum())
        raise UserError(
            f"{place} has one class alone, {classes[0]!s}, in {count} label{'s' * (count > 1)}; two are the least"
        )
    return classes, codes


def _check_alike(mark: FileMark, images: ImageFormat | None, test_images: ImageFormat | None) -> None:
    here, there = (None if one is None else one.channels_first for one in (test_images, images))
    if here != there:
        words = [f"images of {'×'.join(map(str, one))}" if one is not None else "a table" for one in (here, there)]
        raise UserError(f"{mark.place} holds {words[0]}, but the training rows are {words[1]}")
