"""Columns in words."""

from collections.abc import Sequence

from scnf.tables.schema import Column
from scnf.tables.table import listed


def column_words(column: Column) -> tuple[str, str, str]:
    """Return name, kind and what a column holds."""
    if column.kind == "category":
        values = ["(missing)" if value is None else str(value) for value in column.values]
        return column.name, "category", listed(values)
    if column.kind == "constant":
        return column.name, "constant", "nothing" if column.value is None else str(column.value)
    gaps = "" if column.missing is None else f", {100 * column.missing:.2g} % missing"
    kind = "whole number" if column.kind == "integer" else "number"
    return column.name, kind, f"about {column.scaling.center:.4g} ± {column.scaling.spread:.2g}{gaps}"


def kind_counts(columns: Sequence[Column]) -> str:
    """Return how many columns there are of each kind."""
    kinds = [column.kind for column in columns]
    plural = {"number": "numbers", "integer": "whole numbers", "category": "categories", "constant": "constant"}
    counts = [f"{kinds.count(kind)} {plural[kind]}" for kind in dict.fromkeys(kinds)]
    return counts[0] if len(counts) == 1 else f"{len(columns)}: {', '.join(counts)}"
