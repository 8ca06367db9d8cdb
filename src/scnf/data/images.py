"""Published images: found or downloaded, and read into arrays."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from scnf.data.idx import read_pair
from scnf.data.places import Files, download_folder, find_files, why_missing
from scnf.data.published import Published, Report
from scnf.errors import UserError


class Images(NamedTuple):
    """Images ``[N, 1, 28, 28]`` in uint8 and their labels."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def find_or_download(published: Published, data_dir: Path | None, report: Report) -> Files:
    """Return the files of a data set, from ``data_dir`` alone if it is named: nothing is downloaded unasked there."""
    files = find_files(published, data_dir)
    if files is None and data_dir is not None:
        raise UserError(
            f"{why_missing(published, data_dir)}; `scnf data fetch {published.name} --data-dir {data_dir}` downloads it"
        )
    return files or fetch_files(published, None, report)


def fetch_files(published: Published, data_dir: Path | None, report: Report) -> Files:
    """Return the files of a data set, downloaded into a folder of its own under ``data_dir`` if they are not here."""
    files = find_files(published, data_dir)
    if files is None:
        from scnf.data.download import download  # noqa: PLC0415 (what is here needs no network)

        base = download_folder() if data_dir is None else data_dir
        download(published, base / published.folders[0], report)
        files = find_files(published, base)
        assert files is not None
    return files


def read_images(published: Published, files: Files) -> Images:
    """Read the four files of a data set."""
    shape, classes = published.shape, len(published.classes)
    try:
        train = read_pair(files.train_images, files.train_labels, shape, classes)
        test = read_pair(files.test_images, files.test_labels, shape, classes)
    except UserError as error:
        raise UserError(f"{error}; once that is removed, `scnf data fetch {published.name}` gets it anew") from error
    return Images(*train, *test)
