"""Single rows on a page: images as pictures, rows of tables by the columns that matter."""

from collections.abc import Sequence

import numpy as np

from scnf.modelfile import TrainedModel
from scnf.reporting.blocks import Block, Gallery, Listing, Tile
from scnf.reporting.judging import Judged
from scnf.reporting.material import Material
from scnf.reporting.pictures import image_uri
from scnf.tables import Table

COLUMNS_SHOWN = 6
_LONGEST = 24  # characters of a value


def shown_rows(
    material: Material,
    choice: Sequence[tuple[Judged, int]],
    facts: dict[str, list[str]],
    columns: Sequence[str],
    prose: bool = False,
) -> Block:
    """Return rows with facts about each of them: below its picture, or before the values of some of its columns.

    ``prose`` says that what stands last in a table is long text.
    """
    names = [judged.rows.name(row) for judged, row in choice]
    if material.images:
        levels = material.trained.levels or 256
        return Gallery(
            [
                Tile(
                    image_uri(np.asarray(judged.rows.x[row])[None], levels),
                    [*(f"{fact}: {values[i]}" for fact, values in facts.items() if values[i]), names[i]],
                )
                for i, (judged, row) in enumerate(choice)
            ]
        )
    tables = {id(judged): judged.rows.columns() for judged, _ in choice}
    rows = [
        [
            names[i],
            *(values[i] for values in facts.values()),
            *(value_words(tables[id(judged)], name, row) for name in columns),
        ]
        for i, (judged, row) in enumerate(choice)
    ]
    return Listing(["row", *facts, *columns], rows, prose=prose)


def value_words(table: Table, name: str, row: int) -> str:
    """Return a value for people."""
    value = table.columns[name][row]
    if value is None:
        return "–"
    if isinstance(value, (float, np.floating)):
        return "–" if np.isnan(value) else f"{value:.4g}"
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def telling_columns(trained: TrainedModel, judged: Judged, most: int = COLUMNS_SHOWN) -> list[str]:
    """Return the columns in which the predicted classes differ most, by the share of variance between them."""
    if trained.table is None:
        names = list(judged.rows.columns().names)
        z = np.asarray(judged.rows.x, dtype=np.float64).reshape(len(judged), -1)
    else:
        names = trained.encoder.component_columns
        z = trained.encoder.encode(judged.rows.columns(), seed=None).astype(np.float64)
    shares = between_share(z, judged.predicted)
    order = dict.fromkeys(names[i] for i in np.argsort(-shares, kind="stable"))
    return list(order)[:most]


def between_share(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of the variance of each column of z ``[N, d]`` that lies between the classes y ``[N]``.

    Example:
        >>> import numpy as np
        >>> between_share(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 1, 1])).tolist()
        [1.0, 0.0]
    """
    total = z.var(0)
    between = np.zeros(z.shape[1])
    for k in np.unique(y):
        members = z[y == k]
        between += len(members) / len(z) * (members.mean(0) - z.mean(0)) ** 2
    return np.asarray(np.divide(between, total, out=np.zeros_like(between), where=total > 0))
