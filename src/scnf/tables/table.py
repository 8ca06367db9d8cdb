"""Named columns of equal length: what files, frames and arrays become before they are encoded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scnf.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 8  # names in a message


@dataclass(frozen=True)
class Table:
    """Columns by name, each a 1-D array of float64, int64, bool, or objects that are str (or bool) and None.

    ``named`` is false for the columns of an array, which are called x0, x1, … and are met by position. ``unusable``
    tells why a column of the source is not here, such as one of dates: it is refused when somebody asks for it.
    ``source`` and ``first_row`` say where the rows come from, for messages.

    Example:
        >>> import numpy as np
        >>> table = Table({"age": np.array([31, 45]), "town": np.array(["Köln", None], dtype=object)})
        >>> len(table), table.names, table[1:].columns["age"].tolist()
        (2, ('age', 'town'), [45])
    """

    columns: Mapping[str, np.ndarray]
    named: bool = True
    unusable: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    first_row: int = 0

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            longest, shortest = max(lengths, key=lengths.__getitem__), min(lengths, key=lengths.__getitem__)
            raise UserError(
                f"columns must be equally long, but {longest!r} has {lengths[longest]} values "
                f"and {shortest!r} {lengths[shortest]}"
            )

    @classmethod
    def of(cls, data: Any) -> "Table":
        """Return the table of a 2-D array, a mapping of columns, a pandas or polars frame or a pyarrow table.

        A table is returned as it is.
        """
        from scnf.tables.incoming import columns_of  # noqa: PLC0415 (it needs this module)

        if isinstance(data, Table):
            return data
        columns, unusable, named = columns_of(data)
        return cls(columns, named, unusable)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that can be used."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, rows: slice | np.ndarray) -> "Table":
        """Return some rows: a slice, a mask or an array of indices."""
        chosen = {name: values[rows] for name, values in self.columns.items()}
        if isinstance(rows, slice) and rows.step in (None, 1):
            return replace(self, columns=chosen, first_row=self.first_row + rows.indices(len(self))[0])
        return replace(self, columns=chosen, source="", first_row=0)

    def select(self, names: Collection[str]) -> "Table":
        """Return the columns of these names, in this order."""
        for name in names:
            self._check_name(name)
        return replace(self, columns={name: self.columns[name] for name in names}, unusable={})

    def without(self, names: Collection[str]) -> "Table":
        """Return all columns but these, whether they are there or not."""
        keep = {name: values for name, values in self.columns.items() if name not in names}
        unusable = {name: why for name, why in self.unusable.items() if name not in names}
        return replace(self, columns=keep, unusable=unusable)

    def place(self, name: str, row: int | None = None) -> str:
        """Return how a message points at a column, or at one of its values; rows count from 1."""
        file = f"{self.source}, " if self.source else ""
        return f"{file}column {name!r}" + ("" if row is None else f", row {self.first_row + row + 1}")

    def to_array(self) -> np.ndarray:
        """Return the columns side by side ``[N, columns]``, in the one type they have, else in float64 or objects."""
        types = {values.dtype for values in self.columns.values()}
        dtype = types.pop() if len(types) == 1 else np.dtype(object if np.dtype(object) in types else np.float64)
        columns = [values.astype(dtype) for values in self.columns.values()]
        return np.column_stack(columns) if columns else np.empty((0, 0))

    def to_arrow(self) -> "pa.Table":
        """Return the columns as a pyarrow table; NaN is a null there."""
        import pyarrow as pa  # noqa: PLC0415 (only files need it)

        def arrow(values: np.ndarray) -> pa.Array:
            if values.dtype != object:
                return pa.array(values, from_pandas=True)
            # Told, since a column of nothing but None has no type of its own.
            kind = pa.bool_() if any(isinstance(value, bool) for value in values) else pa.string()
            return pa.array(values, kind, from_pandas=True)

        return pa.table({name: arrow(values) for name, values in self.columns.items()})

    def _check_name(self, name: str) -> None:
        if name in self.unusable:
            raise UserError(f"{self.place(name)} {self.unusable[name]}")
        if name not in self.columns:
            file = f"{self.source}: " if self.source else ""
            raise UserError(f"{file}there is no column {name!r}; the columns are {listed(self.names)}")


def listed(names: Collection[str]) -> str:
    """Return names for a message, the first few if there are many."""
    shown = ", ".join(list(names)[:_SHOWN]) or "(none)"
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
