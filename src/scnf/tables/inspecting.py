"""Finding out what the columns of a table are."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import numpy as np

from scnf.errors import UserError
from scnf.tables.incoming import as_texts
from scnf.tables.matching import missing_in, none_where, numbers_of, whole_numbers_of
from scnf.tables.scaling import fit_scaling
from scnf.tables.schema import CategoryColumn, Column, ConstantColumn, GivenKind, NumberColumn, TableSchema
from scnf.tables.table import Table, listed

_EXACT = 2**53  # float64 tells whole numbers apart up to here
_PAIR_ROWS = 20  # fewer do not show that a column has two values only
_MANY_NAMES = 50  # more of them, most of them once, are no categories


def inspect(table: Table, kinds: Mapping[str, GivenKind]) -> TableSchema:
    """Return the schema of a table; what cannot be learned from is refused by column."""
    for name in table.unusable:
        table.select([name])
    if unknown := [name for name in kinds if name not in table.columns]:
        file = f"{table.source}: " if table.source else ""
        raise UserError(f"{file}there is no column {unknown[0]!r} to set the kind of; it has {listed(table.names)}")
    if not len(table):
        raise UserError(f"{table.source or 'the table'} holds no rows")
    return TableSchema(columns=tuple(_column(table, name, kinds.get(name)) for name in table.names), named=table.named)


def _column(table: Table, name: str, kind: GivenKind | None) -> Column:
    values = table.columns[name]
    missing = missing_in(values)
    if missing.all():
        return ConstantColumn(kind="constant", name=name, value=None)
    if kind == "category" and values.dtype != bool:
        return _category(table, name, as_texts(values), "text")
    if kind in (None, "category") and values.dtype in (bool, object):
        bools = values.dtype == bool or all(isinstance(value, bool) for value in values[~missing])
        return _category(table, name, values, "bool" if bools else "text")
    return _numbers(table, name, kind)


def _numbers(table: Table, name: str, kind: GivenKind | None) -> Column:
    values = whole_numbers_of(table, name) if kind == "integer" else numbers_of(table, name)
    missing = missing_in(values)
    present, share = values[~missing], float(missing.mean()) or None
    low, high = present.min().item(), present.max().item()
    if low == high:
        return ConstantColumn(kind="constant", name=name, value=low, missing=share)
    type_: Literal["int64", "float64"] = "int64" if values.dtype == np.int64 else "float64"
    # Among numbers that are farther apart, a step of one is lost in float64.
    whole = kind != "number" and high - low < _EXACT and bool((np.floor(present) == present).all())
    if whole and kind is None and high - low == 1 and len(present) >= _PAIR_ROWS:
        return _category(table, name, none_where(missing, values), type_)
    scaling = fit_scaling(present, whole)
    return NumberColumn(
        kind="integer" if whole else "number",
        name=name,
        type=type_ if whole else "float64",
        scaling=scaling,
        missing=share,
    )


def _category(
    table: Table, name: str, values: np.ndarray, type_: Literal["text", "bool", "int64", "float64"]
) -> Column:
    counts = Counter(values.tolist())
    if len(counts) == 1:
        return ConstantColumn(kind="constant", name=name, value=next(iter(counts)))
    if len(counts) > max(_MANY_NAMES, len(values) / 2):
        raise UserError(
            f"{table.place(name)} has {len(counts)} different values in {len(values)} rows: it looks like an "
            "identifier or free text, from which nothing can be learned; leave it out"
        )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    if type_ in ("int64", "float64"):
        ordered = [(None if value is None else int(value), count) for value, count in ordered]
    return CategoryColumn(
        kind="category",
        name=name,
        type=type_,
        values=tuple(value for value, _ in ordered),
        counts=tuple(count for _, count in ordered),
    )
