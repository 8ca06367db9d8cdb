"""Labels as people have them: which rows have one, what the classes are, and their names in a model's file."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from scnf.data.labels import UNLABELED
from scnf.errors import UserError
from scnf.estimator.inputs import frame_kind
from scnf.tables.objects import is_missing

LabelType = Literal["int", "float", "bool", "str"]


def read_labels(y: Any, unlabeled: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes ``[K]`` in order and the number of each row's class ``[N]``, -1 where it has no label.

    None and NaN mean that a row has no label, and so does the marker ``unlabeled``.

    Example:
        >>> import numpy as np
        >>> classes, codes = read_labels(np.array(["b", "a", "?"], dtype=object), "?")
        >>> classes.tolist(), codes.tolist()
        (['a', 'b'], [1, 0, -1])
    """
    y = column_or_1d(in_own_type(y), warn=True)
    hidden = without_label(y, unlabeled)
    if hidden.all():
        raise UserError(
            f"y has no label: all of its {len(y)} values are missing or the marker unlabeled={unlabeled!r}; "
            "a classifier needs one row of each class at least"
        )
    labels = _same_type(y[~hidden])
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes, codes_of_labelled = np.unique(labels, return_inverse=True)
    codes = np.full(len(y), UNLABELED, dtype=np.int64)
    codes[~hidden] = codes_of_labelled
    return classes, codes


def in_own_type(y: Any) -> Any:
    """Return y so that gaps do not change the type of its labels: numpy would make 1.0 of a True beside one."""
    kind = frame_kind(y)
    if kind == "polars":
        return np.array(y.rows() if hasattr(y, "rows") else y.to_list(), dtype=object)
    if kind == "pandas" and not isinstance(getattr(y, "dtype", None), np.dtype):
        return np.asarray(y.astype(object))
    return y


def without_label(y: np.ndarray, unlabeled: Any) -> np.ndarray:
    """Return which values ``[N]`` say that a row has no label: None, NaN and the marker ``unlabeled``."""
    hidden = _is_missing(y)
    hidden[~hidden] = _is_marker(y[~hidden], unlabeled)
    return hidden


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    return np.array([is_missing(value) or bool(value != value) for value in y.tolist()])  # noqa: PLR0124 (NaN is not itself)


def _is_marker(y: np.ndarray, unlabeled: Any) -> np.ndarray:
    if unlabeled is None:
        return np.zeros(len(y), dtype=bool)
    # numpy.array(["cat", -1]) makes a text of the marker, too.
    if y.dtype.kind in "US":
        return y == str(unlabeled)
    # One by one: numbers beside names cannot be compared as an array. True is a label, not the number 1.
    is_truth = isinstance(unlabeled, bool)
    return np.array(
        [
            value == str(unlabeled)
            if isinstance(value, str)
            else isinstance(value, bool) == is_truth and bool(value == unlabeled)
            for value in y.tolist()
        ]
    )


def _same_type(labels: np.ndarray) -> np.ndarray:
    """Return labels of objects in the one type that they have; names beside numbers could not be put in order."""
    if labels.dtype.kind != "O":
        return labels
    types = {type(value) for value in labels.tolist()}
    if len(types) > 1 and not types <= {int, float}:
        shown = ", ".join(sorted(kind.__name__ for kind in types))
        raise UserError(f"labels must be of one type, names or numbers, but y holds {shown}")
    kind = types.pop()
    if not issubclass(kind, str | int | float | bool | np.generic):
        raise UserError(f"labels must be names or numbers, but y holds {kind.__name__}, such as {labels[0]!r}")
    return labels if issubclass(kind, str) else np.array(labels.tolist())


def type_of(classes: np.ndarray) -> LabelType:
    """Return what kind of values classes are."""
    kind = classes.dtype.kind
    return "int" if kind in "iu" else "float" if kind == "f" else "bool" if kind == "b" else "str"


def names_of(classes: np.ndarray) -> tuple[str, ...]:
    """Return the classes as names, for a model's file."""
    return tuple(str(value) for value in classes.tolist())


def classes_from(names: tuple[str, ...], kind: LabelType) -> np.ndarray:
    """Return the classes whose names a file holds."""
    if kind == "str":
        return np.array(names, dtype=object)
    if kind == "bool":
        return np.array([name == "True" for name in names])
    return np.array([int(name) if kind == "int" else float(name) for name in names])
