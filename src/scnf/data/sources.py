"""Data sets by name: a seed in, training and test arrays out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scnf.data.images import read_images
from scnf.data.labels import hide_labels
from scnf.data.obtain import fetch_files, find_or_download
from scnf.data.places import Files, find_files
from scnf.data.published import CENSUS, FASHION_MNIST, MNIST, Published, Report, tell_nobody
from scnf.errors import UserError


@dataclass(frozen=True)
class Split:
    """One data set, split for training and testing.

    ``y_train`` is -1 where the label is hidden. ``levels`` is the number of values a component takes if the data are
    integers 0 … levels−1 (to be dequantised), and None if they are continuous.
    """

    name: str
    seed: int
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: tuple[str, ...]
    levels: int | None = None

    @property
    def labelled(self) -> int:
        """Number of training rows that have a label."""
        return int((self.y_train >= 0).sum())


@dataclass(frozen=True)
class Source:
    """How to make a data set and what to tell of it.

    ``load`` takes the number of labels, the seed and the data set's files; one that needs no files ignores them.
    """

    description: str
    default_labels: int
    default_recipe: str
    load: Callable[[int, int, Files | None], Split]
    published: Published | None = None


def _toy(
    name: str, make: Callable[[int], tuple[np.ndarray, np.ndarray]], classes: tuple[str, ...]
) -> Callable[[int, int, Files | None], Split]:
    def load(labels: int, seed: int, files: Files | None) -> Split:
        x, y = make(seed)
        x = x.astype(np.float32)
        y_train = hide_labels(y[:1000], labels, seed)
        return Split(name, seed, x[:1000], y_train, x[1000:], y[1000:], classes)

    return load


def _moons(seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_moons  # noqa: PLC0415 (takes a second, and not every command needs it)

    x, y = make_moons(1500, noise=0.1, random_state=seed)
    return x, y


def _circles(seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_circles  # noqa: PLC0415

    x, y = make_circles(1500, noise=0.1, factor=0.2, random_state=seed)
    return x, y


def _digits(labels: int, seed: int, files: Files | None) -> Split:
    from sklearn.datasets import load_digits  # noqa: PLC0415
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    data = load_digits()
    images = data.images.astype(np.uint8)[:, None]
    x_train, x_test, y_train, y_test = train_test_split(
        images, data.target, test_size=1 / 3, stratify=data.target, random_state=seed
    )
    hidden = hide_labels(y_train, labels, seed)
    return Split("digits", seed, x_train, hidden, x_test, y_test, tuple("0123456789"), levels=17)


def _images(published: Published, description: str) -> Source:
    def load(labels: int, seed: int, files: Files | None) -> Split:
        assert files is not None
        images = read_images(published, files)
        y_train = hide_labels(images.y_train, labels, seed)
        return Split(
            published.name,
            seed,
            images.x_train,
            y_train,
            images.x_test,
            images.y_test,
            published.classes,
            levels=256,
        )

    return Source(description, 100, "mnist", load, published)


def _census(labels: int, seed: int, files: Files | None) -> Split:
    from scnf.data.census import TASK, read_census  # noqa: PLC0415 (tables are slow to import)
    from scnf.tables import TableEncoder, split_target  # noqa: PLC0415

    assert files is not None
    (train, income), (test, test_income) = (split_target(table, TASK) for table in read_census(files))
    encoder = TableEncoder.fit(train)
    y_train, y_test = (np.array([CENSUS.classes.index(name) for name in y.tolist()]) for y in (income, test_income))
    # Whole numbers and names are dequantised once, as for people's own tables.
    x_train, x_test = (encoder.encode(table, seed=0) for table in (train, test))
    return Split("census", seed, x_train, hide_labels(y_train, labels, seed), x_test, y_test, CENSUS.classes)


SOURCES: dict[str, Source] = {
    "moons": Source(
        "two interleaved half circles, noise 0.1; 1,000 training and 500 test points",
        10,
        "toy",
        _toy("moons", _moons, ("upper", "lower")),
    ),
    "circles": Source(
        "a ring around a disc, noise 0.1, factor 0.2; 1,000 training and 500 test points",
        10,
        "toy",
        _toy("circles", _circles, ("outer", "inner")),
    ),
    "digits": Source("scikit-learn's handwritten digits, 8×8, two thirds for training", 100, "digits", _digits),
    "mnist": _images(MNIST, "handwritten digits, 28×28; 60,000 training and 10,000 test images"),
    "fashion-mnist": _images(FASHION_MNIST, "pieces of clothing, 28×28; 60,000 training and 10,000 test images"),
    "census": Source(
        "census of 1994 (UCI Adult): income above $50,000 by 14 columns; 32,561 training and 16,281 test rows",
        200,
        "table",
        _census,
        CENSUS,
    ),
}


def find_source(name: str) -> Source:
    """Return a data set's source by name."""
    if name not in SOURCES:
        raise UserError(f"unknown data set {name!r}; known are {', '.join(SOURCES)}")
    return SOURCES[name]


def load(
    name: str,
    labels: int | None = None,
    seed: int = 0,
    data_dir: Path | str | None = None,
    on_download: Report = tell_nobody,
) -> Split:
    """Load a data set by name with all but ``labels`` training labels hidden.

    Files are looked for in ``data_dir`` alone if it is given; otherwise in the usual places, and if they are in none,
    they are downloaded. ``on_download`` is told the name of a file, the bytes so far and the bytes in all.

    Example:
        >>> split = load("moons", labels=10, seed=0)
        >>> split.x_train.shape, split.x_test.shape, split.labelled
        ((1000, 2), (500, 2), 10)
    """
    source = find_source(name)
    if not 0 <= seed < 2**32:
        raise UserError(f"seed must lie between 0 and {2**32 - 1}, got {seed}")
    files = None if source.published is None else find_or_download(source.published, _path(data_dir), on_download)
    return source.load(source.default_labels if labels is None else labels, seed, files)


def locate(name: str, data_dir: Path | str | None = None) -> Path | None:
    """Return the folder that holds a data set's files; None if it needs none or they are not here."""
    published = find_source(name).published
    files = None if published is None else find_files(published, _path(data_dir))
    return None if files is None else files.folder


def fetch(name: str, data_dir: Path | str | None = None, on_download: Report = tell_nobody) -> Path | None:
    """Download a data set's files, to ``data_dir`` if it is given, unless they are here; return their folder."""
    source = find_source(name)
    if source.published is None:
        return None
    files = fetch_files(source.published, _path(data_dir), on_download)
    source.load(source.default_labels, 0, files)  # tells now, not during a run, if a file is damaged
    return files.folder


def _path(data_dir: Path | str | None) -> Path | None:
    return None if data_dir is None else Path(data_dir).expanduser()
