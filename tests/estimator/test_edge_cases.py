"""Data at the edge: each works, or is refused with a sentence that names what is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from scnf import SCNFClassifier
from scnf.estimator.labels import read_labels
from tests.estimator.conftest import rows, short

X, Y, TRUTH = rows()


def changed(row: int, column: int, value: float) -> np.ndarray:
    x = X.copy()
    x[row, column] = value
    return x


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, np.full(120, -1), "y has no label: all of its 120 values are missing or the marker unlabeled=-1"),
        (X[:1], Y[:1], "minimum of 2 is required"),
        (pd.DataFrame(X[:1]), Y[:1], "the number of rows in X is 1, but 2 is the least"),
        (pd.DataFrame(X, columns=list("abca")), Y, "^two columns are called 'a'; every column needs a name of its"),
        (changed(3, 1, -1e305), Y, r"row 4: the value is -1e\+305, which is too large; numbers may go from -1e\+300"),
        (changed(3, 1, np.inf), Y, r"column 'x1', row 4: the value is inf, which is not a finite number"),
        (np.ones((120, 4)), Y, "in 120 rows no column has two different values"),
        (X, Y[:50], "inconsistent numbers of samples"),
        (X, np.where(Y < 0, -1, Y + 0.5), "continuous"),
        (X, np.array(["a", 1] * 60, dtype=object), "labels must be of one type"),
        (
            X,
            np.array([(1, 2)] * 120 + [None], dtype=object)[:120],
            "labels must be names or numbers, but y holds tuple",
        ),
    ],
    ids=["no label", "1 row", "1 of a frame", "names", "1e305", "inf", "constant", "y", "shares", "types", "tuples"],
)
def test_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        short().fit(x, y)


def test_a_value_that_cannot_be_told_is_named():
    classifier = short().fit(X, Y)
    with pytest.raises(ValueError, match=r"column 'x1', row 4: the value is missing"):
        classifier.predict(changed(3, 1, np.nan))
    with pytest.raises(ValueError, match=r"column 'x2', row 7: the value is -inf"):
        classifier.predict(changed(6, 2, -np.inf))


@pytest.mark.parametrize(
    ("x", "y", "least"),
    [
        (X, np.where(Y == 1, 1, -1), 0.0),
        (np.array([[0.0, 1.0], [3.0, 5.0]]), np.array([0, 1]), 0.0),
        (X, TRUTH, 0.97),
        (np.column_stack([X, np.ones(120), np.zeros(120)]), Y, 0.97),
        (X[:, :1], Y, 0.6),
        (changed(3, 1, np.nan), Y, 0.95),
        (X * [1e-9, 1, 1e9, 1e30], Y, 0.9),
        (np.round(X * 2).astype(int), Y, 0.95),
        (X.astype(np.float32), Y.astype(np.float64), 0.97),
        (np.column_stack([X, X]), Y, 0.95),
    ],
    ids=["1 class", "2 rows", "all labels", "constants", "1 column", "nan", "scales", "whole", "floats", "twice"],
)
def test_works(x, y, least):
    classifier = short().fit(x, y)
    truth = TRUTH[: len(x)]
    assert classifier.predict_proba(x).shape == (len(x), len(classifier.classes_))
    assert np.isfinite(classifier.score_samples(x)).all()
    assert (classifier.predict(x) == truth).mean() >= least
    drawn, _ = classifier.sample(5, random_state=0)
    assert drawn.shape == (5, x.shape[1])


def test_one_class_is_always_predicted():
    classifier = SCNFClassifier(settings={"training.steps": 3}).fit(X, np.where(Y == 1, 1, -1))
    assert set(classifier.predict(X).tolist()) == {1}
    assert classifier.predict_proba(X).tolist() == [[1.0]] * 120


def test_a_hundred_classes():
    x, y, truth = rows(n=600, classes=100, features=6, labelled=200)
    assert short().fit(x, y).score(x, truth) > 0.7


def test_a_class_that_no_labelled_row_has_is_none():
    y = np.where(Y == 2, -1, Y)
    assert short().fit(X, y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("marker", [-1, "?", None, np.nan, 0, True])
def test_markers(marker):
    labels = np.array(["a", "b", "c"], dtype=object)[TRUTH]
    y = np.where(Y >= 0, labels, "").astype(object)
    y[Y < 0] = marker
    assert short(unlabeled=marker).fit(X, y).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("dtype", [object, str])
def test_a_marker_that_became_a_text_is_one(dtype):
    y = np.where(Y >= 0, np.array(["a", "b", "c"])[TRUTH], "-1").astype(dtype)
    assert short().fit(X, y).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("dtype", ["string", "Int64", "category", object])
def test_labels_of_a_frame_s_column(dtype):
    names = np.array([7, 8, 9] if dtype == "Int64" else ["a", "b", "c"], dtype=object)
    y = pd.Series(names[TRUTH], dtype=dtype).mask(Y < 0)
    assert short().fit(X, y).classes_.tolist() == names.tolist()


@pytest.mark.parametrize(
    ("classes", "dtypes"),
    [
        ([7, 8, 9], ["Int64", "int64[pyarrow]"]),
        ([True, False], ["boolean", "bool[pyarrow]"]),
        (["a", "b"], ["string", "category"]),
        ([1.0, 2.0], ["Float64", "float64"]),
    ],
    ids=["int", "bool", "str", "float"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_gaps_leave_labels_their_type(classes, dtypes):
    values = [None if hidden else classes[k % len(classes)] for k, hidden in zip(TRUTH, Y < 0, strict=True)]
    columns = [pl.Series("y", values), *(pd.Series(values, dtype=dtype) for dtype in dtypes)]
    for y in (*columns, *(column.to_frame() for column in columns)):
        found, codes = read_labels(y, -1)
        assert found.tolist() == sorted(classes)
        assert {type(label) for label in found.tolist()} == {type(classes[0])}
        np.testing.assert_array_equal(codes < 0, Y < 0)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_with_gaps_are_labels_everywhere(library):
    values = [None if hidden else k > 0 for k, hidden in zip(TRUTH.tolist(), Y < 0, strict=True)]
    y = pl.Series(values) if library is pl else pd.Series(values, dtype="boolean")
    classifier = short().fit(X, y)
    assert classifier.predict(X).dtype == bool
    assert classifier.score(X, y) == classifier.score(X, np.array(values, dtype=object))
    np.testing.assert_array_equal(classifier.obfuscate(X, y), classifier.obfuscate(X, np.array(values, dtype=object)))


def test_a_number_that_looks_like_the_marker_is_a_label_if_another_was_given():
    y = np.array([-1, 1])[(TRUTH > 0).astype(int)]
    assert short(unlabeled=None).fit(X, y).classes_.tolist() == [-1, 1]


# Images


def images(side: int = 8, channels: int | None = None, dtype=np.uint8, levels: int = 256):
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    shape = (60, side, side) if channels is None else (60, channels, side, side)
    x = rng.integers(0, levels // 2, shape) + (truth * (levels // 2)).reshape(-1, *[1] * (len(shape) - 1))
    return (x / (levels - 1) if dtype is float else x.astype(dtype)), np.where(np.arange(60) < 20, truth, -1), truth


@pytest.mark.parametrize("side", [4, 8, 17, 18, 20, 22])
@pytest.mark.parametrize("channels", [None, 3])
def test_images_of_all_sizes(side, channels):
    x, y, _ = images(side, channels)
    classifier = short(settings={"training.steps": 3}).fit(x, y)
    assert classifier.n_features_in_ == x[0].size
    assert classifier.predict_proba(x).shape == (60, 2)
    drawn, _ = classifier.sample(3, random_state=0)
    assert drawn.shape == (3, *x.shape[1:])
    assert drawn.dtype == np.uint8
    back = classifier.inverse_transform(classifier.transform(x, latent="all"), latent="all")
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(("dtype", "levels"), [(np.uint8, 256), (float, 256), (np.int64, 18), (np.int64, 1000)])
def test_images_of_all_kinds_of_values(dtype, levels, tmp_path):
    x, y, _ = images(dtype=dtype, levels=levels)
    classifier = short(settings={"training.steps": 3}).fit(x, y)
    assert classifier.model_.levels == levels
    drawn, _ = classifier.sample(3, random_state=0)
    assert drawn.min() >= 0
    assert drawn.max() <= (1 if dtype is float else levels - 1)
    classifier.save(tmp_path / "images.safetensors")
    again = SCNFClassifier.load(tmp_path / "images.safetensors")
    np.testing.assert_array_equal(again.predict_proba(x), classifier.predict_proba(x))
    np.testing.assert_array_equal(again.sample(3, random_state=0)[0], drawn)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full((4, 5, 5), -1.0), "there is -1"),
        (np.full((4, 5, 5), 1.5), "there is 1.5 beside shares"),
        (np.full((4, 5, 5), np.nan), "image 1 has a NaN or an infinity"),
        (np.full((4, 5, 5), 70000), "at most 65536 levels"),
        (np.full((4, 5, 5), "a"), "images hold numbers"),
        (np.zeros((4, 32, 32, 3), dtype=np.uint8), "looks like channels last"),
        (np.zeros((4, 0, 8)), r"an array of shape \(4, 0, 8\) holds no images"),
        (np.zeros((1, 8, 8)), "the number of images in X is 1, but 2 is the least"),
        (np.zeros((0, 8, 8)), "the number of images in X is 0, but 2 is the least"),
        (np.zeros((0, 3, 8, 8), dtype=np.uint8), "the number of images in X is 0, but 2 is the least"),
    ],
)
def test_refused_images(x, message):
    with pytest.raises(ValueError, match=message):
        short().fit(x, [0, 1, -1, -1][: len(x)])


def test_two_images_are_enough():
    x, _, _ = images()
    assert short(settings={"training.steps": 1}).fit(x[:2], [0, 1]).predict(x).shape == (60,)


def test_other_images_than_those_of_training_are_refused():
    x, y, _ = images(levels=18)
    classifier = short(settings={"training.steps": 1}).fit(x.astype(int), y)
    for wrong, message in [
        (x[:, :4], "images of shape"),
        (x + 9, "from 0 to 17"),
        (x[0], "got an array of shape"),
        (x[:0], "the number of images in X is 0, but 1 is the least"),
    ]:
        with pytest.raises(ValueError, match=message):
            classifier.predict(wrong)
