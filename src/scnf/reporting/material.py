"""What a report is made from: a model, its rows as far as they are there, and how its training went."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scnf.data import Split
from scnf.data.labels import UNLABELED
from scnf.modelfile import TrainedModel
from scnf.tables import Table


@dataclass(frozen=True)
class RowSet:
    """Rows as people have them, a table or an array, the codes of their labels ``[N]`` and where they stand.

    A code is -1 where a row has no label and -2 where the model does not know it. ``numbers`` count the rows of their
    file from 0; ``files`` are names of all the images in their folder.
    """

    kind: str  # what the page calls them: training or test
    x: Any
    codes: np.ndarray
    numbers: np.ndarray
    files: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray) -> "RowSet":
        return replace(self, x=self.x[rows], codes=self.codes[rows], numbers=self.numbers[rows])

    def name(self, row: int) -> str:
        """Return what people call a row: its file, or its number, from 1."""
        number = int(self.numbers[row])
        return f"row {number + 1:,}" if self.files is None else self.files[number]

    def columns(self) -> Table:
        """Return the rows of vectors as columns."""
        return self.x if isinstance(self.x, Table) else Table.of(np.asarray(self.x).reshape(len(self), -1))

    def excerpt(self, most: int) -> "RowSet":
        """Return at most so many rows, labelled ones first, evenly spread and in order."""
        if len(self) <= most:
            return self
        labelled, others = np.flatnonzero(self.codes != UNLABELED), np.flatnonzero(self.codes == UNLABELED)
        known = min(len(labelled), max(most // 2, most - len(others)))
        return self[np.sort(np.concatenate([spread(labelled, known), spread(others, most - known)]))]


@dataclass(frozen=True)
class Material:
    """All that is there; a sentence says why a part of it is not."""

    place: str
    trained: TrainedModel
    data_name: str  # empty where nobody tells it
    train: RowSet | None = None
    test: RowSet | None = None
    no_train: str = ""
    no_test: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    repeat: str | None = None
    split: Split | None = None

    @property
    def images(self) -> bool:
        """Whether the rows are pictures."""
        return len(self.trained.model.shape) == 3 and self.trained.levels is not None


def numbered(kind: str, x: Any, codes: np.ndarray, folder: Path | None = None, numbers: Any = None) -> RowSet:
    """Return a set of rows; if they are images of a folder, they are called by their files."""
    files = None
    if folder is not None and folder.is_dir():
        from scnf.tables.images import list_image_folder  # noqa: PLC0415 (loads Pillow)

        files = [file.relative_to(folder).as_posix() for file in list_image_folder(folder)[0]]
    return RowSet(kind, x, codes, np.arange(len(codes)) if numbers is None else numbers, files)


def spread(rows: np.ndarray, count: int) -> np.ndarray:
    """Return so many of the rows, or all if there are fewer, evenly spread."""
    if len(rows) <= count:
        return rows
    return rows[np.arange(count) * len(rows) // max(count, 1)]
