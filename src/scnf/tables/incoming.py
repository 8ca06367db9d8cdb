"""Arrays and frames as columns of the few types that a table has; what has none of them is told by column."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from scnf.errors import UserError
from scnf.tables.objects import UnusableError, column_of_objects, numbers_of_texts

if TYPE_CHECKING:
    import pyarrow as pa

_WHAT = "a 2-D array, a mapping of columns, a pandas or polars DataFrame or a pyarrow Table"
_DATES = "turn it into numbers, such as days since a start, or leave the column out"


def columns_of(data: Any) -> tuple[dict[str, np.ndarray], dict[str, str], bool]:
    """Return usable columns, why the others are not, and whether the data have names of their own."""
    names, pairs = _pairs(data)
    titles = names if names is not None else [f"x{i}" for i in range(len(pairs))]
    refuse_same_names(titles)
    columns, unusable = {}, {}
    for title, values in zip(titles, pairs, strict=True):
        try:
            columns[title] = _usable(values)
        except UnusableError as error:
            unusable[title] = str(error)
    return columns, unusable, names is not None


def refuse_same_names(names: Iterable[str], source: str = "") -> None:
    """Refuse a name that two columns have: nobody could tell which of them is meant."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            where = f"{source}: " if source else ""
            raise UserError(f"{where}two columns are called {name!r}; every column needs a name of its own")
        seen.add(name)


def _pairs(data: Any) -> tuple[list[str] | None, list[Any]]:
    """Return the names, if there are any, and the columns in the form they come in."""
    if isinstance(data, Mapping):
        return list(map(str, data)), [_one_dimension(name, values) for name, values in data.items()]
    # Without importing pandas: who hands in a frame has done so.
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "items") and hasattr(data, "columns"):
        named = list(data.items())
        return [str(name) for name, _ in named], [values for _, values in named]
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        import pyarrow as pa  # noqa: PLC0415 (arrays do not need it)

        table = pa.table(data)
        return list(table.column_names), list(table.columns)
    # A list may mix numbers and names, which only objects keep apart.
    array = data if isinstance(data, np.ndarray) else np.asarray(data, dtype=object)
    if array.ndim != 2:
        raise UserError(f"a table is {_WHAT}, not {_described(data)}")
    return None, list(array.T)


def _described(data: Any) -> str:
    shape = getattr(data, "shape", None)
    return f"an array of shape {shape}" if isinstance(data, np.ndarray) else f"{type(data).__name__}"


def _one_dimension(name: Any, values: Any) -> np.ndarray:
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise UserError(f"column {str(name)!r} must have one dimension, it has {array.ndim}")
    return array


def _usable(values: Any) -> np.ndarray:
    """Return a column in one of a table's types."""
    if isinstance(values, np.ndarray):
        return column_of_array(values)
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(values, pa.ChunkedArray):
        return column_of_arrow(values)
    # A pandas series: objects may be anything, the other types are Arrow's too.
    if values.dtype == object:
        return column_of_objects(values.to_numpy())
    try:
        return column_of_arrow(pa.array(values, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return column_of_objects(values.to_numpy(dtype=object))


def column_of_array(values: np.ndarray) -> np.ndarray:
    """Return a 1-D numpy array in one of a table's types."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(bool)
    if kind == "f":
        return values.astype(np.float64)
    if kind in "iu":
        return _whole(values)
    if kind in "US":
        # An array of texts is often one of numbers and names that numpy has made equal.
        return numbers_of_texts(values.astype(str).astype(object))
    if kind == "O":
        return column_of_objects(values)
    if kind in "mM":
        raise UnusableError(f"holds dates or times ({values.dtype}); {_DATES}")
    raise UnusableError(f"holds values of type {values.dtype}, neither numbers nor names")


def column_of_arrow(values: "pa.Array | pa.ChunkedArray", gaps: bool = False) -> np.ndarray:
    """Return an Arrow column in one of a table's types; null is NaN among numbers and None elsewhere.

    ``gaps`` tells that there are nulls elsewhere in the column, so that its parts have one type.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    kind, types = values.type, pa.types
    gaps = gaps or values.null_count > 0
    if types.is_dictionary(kind):
        # Categories of any type are names: 1 stands for a group, not for a quantity.
        plain = column_of_objects(np.array(values.to_pylist(), dtype=object))
        return as_texts(plain)
    if types.is_null(kind):
        return np.full(len(values), np.nan)
    if types.is_boolean(kind):
        return np.array(values.to_pylist(), dtype=object) if gaps else _numpy(values)
    if types.is_integer(kind) and not gaps:
        return _whole(_numpy(values))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        # Nulls as NaN by way of float64: pyarrow would otherwise choose the type by the values.
        return _numpy(pc.fill_null(values.cast(pa.float64(), safe=False), float("nan")))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return np.array(values.to_pylist(), dtype=object)
    if types.is_temporal(kind):
        raise UnusableError(f"holds dates or times ({kind}); {_DATES}")
    if types.is_nested(kind):
        raise UnusableError(
            f"holds several values in each row ({kind}); give each a column of its own, or leave it out"
        )
    raise UnusableError(f"holds values of type {kind}, neither numbers nor names; leave the column out")


def as_texts(values: np.ndarray) -> np.ndarray:
    """Return the names of values, 1 for 1.0; what is missing is None."""
    return np.array([text_of(value) for value in values.tolist()], dtype=object)


def text_of(value: Any) -> str | None:
    """Return the name of a value."""
    if value is None or value != value:  # noqa: PLR0124 (NaN is what differs from itself)
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numpy(values: "pa.Array | pa.ChunkedArray") -> np.ndarray:
    array: np.ndarray = values.to_numpy(zero_copy_only=False) if hasattr(values, "buffers") else values.to_numpy()
    return array


def _whole(values: np.ndarray) -> np.ndarray:
    """Return whole numbers in int64, or in float64 where they are too large."""
    fits = values.dtype != np.uint64 or not len(values) or int(values.max()) <= np.iinfo(np.int64).max
    return values.astype(np.int64 if fits else np.float64)
