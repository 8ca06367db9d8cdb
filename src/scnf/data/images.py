"""Published images, read into arrays."""

from typing import NamedTuple

import numpy as np

from scnf.data.idx import read_pair
from scnf.data.places import Files
from scnf.data.published import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, Published
from scnf.errors import UserError


class Images(NamedTuple):
    """Images ``[N, 1, 28, 28]`` in uint8 and their labels."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def read_images(published: Published, files: Files) -> Images:
    """Read the four files of a data set."""
    shape, classes = published.shape, len(published.classes)
    try:
        train = read_pair(files[TRAIN_IMAGES], files[TRAIN_LABELS], shape, classes)
        test = read_pair(files[TEST_IMAGES], files[TEST_LABELS], shape, classes)
    except UserError as error:
        raise UserError(f"{error}; {files.remedy}") from error
    return Images(*train, *test)
