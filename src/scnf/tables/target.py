"""The column of labels apart from the others."""

from typing import Any

import numpy as np

from scnf.errors import UserError
from scnf.tables.incoming import text_of
from scnf.tables.objects import is_missing
from scnf.tables.table import Table


def split_target(table: Table, target: str, unlabeled: str | float | bool | None = None) -> tuple[Table, np.ndarray]:
    """Return the other columns and the labels ``[N]``, objects that are str, int or bool, and None where there is none.

    An empty cell, a missing value and the marker ``unlabeled`` mean that a row has no label. 1.0 is the label 1.

    Example:
        >>> import numpy as np
        >>> table = Table({"x": np.array([0.5, 1.5, 2.5]), "y": np.array([1.0, np.nan, -1.0])})
        >>> features, y = split_target(table, "y", unlabeled=-1)
        >>> features.names, y.tolist()
        (('x',), [1, None, None])
    """
    values = table.select([target]).columns[target]
    marker = None if is_missing(unlabeled) else text_of(unlabeled)
    labels: list[Any] = []
    for row, value in enumerate(values.tolist()):
        if is_missing(value) or text_of(value) == marker or (isinstance(value, str) and not value.strip()):
            labels.append(None)
        elif isinstance(value, float) and not value.is_integer():
            raise UserError(
                f"{table.place(target, row)}: the value is {value:g}, "
                "but a label is a name, a whole number or true or false"
            )
        else:
            labels.append(int(value) if isinstance(value, float) else value)
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    return table.without([target]), y
