"""Hiding labels: which rows keep theirs."""

import numpy as np

from scnf.errors import UserError

UNLABELED = -1


def hide_labels(y: np.ndarray, labels: int, seed: int) -> np.ndarray:
    """Keep ``labels`` labels, the same number for each class as far as it goes, and set the others to -1.

    Depends on y, ``labels`` and ``seed`` alone, so a split is the same on every machine.

    Example:
        >>> import numpy as np
        >>> hidden = hide_labels(np.repeat([0, 1], 50), labels=10, seed=0)
        >>> [int((hidden == k).sum()) for k in (-1, 0, 1)]
        [90, 5, 5]
    """
    classes = np.unique(y)
    if not len(classes) <= labels <= len(y):
        raise UserError(f"labels must lie between {len(classes)} (one per class) and {len(y)} (all rows), got {labels}")
    rng = np.random.default_rng([seed, 0x1ABE1])
    rows_of = [rng.permutation(np.flatnonzero(y == k)) for k in classes]
    # Turn by turn one row of each class, so that the counts differ by one at most while rows last.
    longest = max(len(rows) for rows in rows_of)
    turns = [rows[turn] for turn in range(longest) for rows in rows_of if turn < len(rows)]
    keep = np.array(turns[:labels])
    hidden = np.full(len(y), UNLABELED, dtype=np.int64)
    hidden[keep] = y[keep]
    return hidden
