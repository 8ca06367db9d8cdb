"""Rows that a model drew, as people have theirs."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from scnf.errors import UserError
from scnf.files.notes import Labels, image_format, target_of
from scnf.modelfile import TrainedModel
from scnf.tables import Table

_LABEL = "label"


def sampled_table(trained: TrainedModel, x: Any, names: np.ndarray) -> Table:
    """Return rows with the columns and types of the data and, last, their labels in the column of training."""
    rows = x if isinstance(x, Table) else Table.of(np.asarray(x).reshape(len(x), -1))
    labels = Labels.of(trained).column(names, np.ones(len(names), dtype=bool))
    return Table({**rows.columns, target_of(trained) or _LABEL: labels})


def sampled_array(trained: TrainedModel, x: Any) -> np.ndarray:
    """Return rows as one array, images as training had them; a table with names in it has none."""
    if not isinstance(x, Table):
        images = image_format(trained)
        return np.asarray(x) if images is None else images.from_rows(np.asarray(x))
    if texts := [name for name, values in x.columns.items() if values.dtype == object]:
        raise UserError(f"an .npz file holds numbers, but column {texts[0]!r} holds names; choose .csv or .parquet")
    return x.to_array()


def write_image_folder(path: Path, trained: TrainedModel, batches: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Write images ``[B, C, H, W]`` to ``path/class/number.png``, all of them or none."""
    from PIL import Image  # noqa: PLC0415 (slow to import)

    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists already; choose another --out")
    if not path.parent.is_dir():
        raise UserError(f"the folder {path.parent} of --out does not exist")
    folder_of = {name: name.replace(os.sep, "_") for name in trained.classes}
    if unfit := [name for name in folder_of if folder_of[name] in ("", ".", "..")]:
        raise UserError(f"the class {unfit[0]!r} cannot be the name of a folder; choose .npz for --out")
    if len(set(folder_of.values())) < len(folder_of):
        raise UserError(f"two of the classes {', '.join(folder_of)} would share a folder; choose .npz for --out")
    brightest = (trained.levels or 256) - 1
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    number = 0
    try:
        for images, names in batches:
            pixels = np.rint(images.astype(np.float64) * (255 / brightest)).astype(np.uint8)
            for image, name in zip(pixels, names.tolist(), strict=True):
                folder = temporary / folder_of[name]
                folder.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image[0] if len(image) == 1 else np.moveaxis(image, 0, 2)).save(
                    folder / f"{number:06d}.png"
                )
                number += 1
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
