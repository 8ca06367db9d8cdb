"""Which rows are kept for the test."""

import numpy as np

from scnf.data.labels import UNLABELED


def choose_test_rows(codes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a mask of test rows: this share of each class's labelled rows and of those without a label.

    Depends on the codes ``[N]``, the share and the seed alone. A class keeps one label at least to be learned from.

    Example:
        >>> import numpy as np
        >>> mask = choose_test_rows(np.repeat([0, 1, -1], [10, 20, 100]), 0.2, seed=0)
        >>> mask[:10].sum(), mask[10:30].sum(), mask[30:].sum()
        (np.int64(2), np.int64(4), np.int64(20))
    """
    rng = np.random.default_rng([seed, 0x7E57])
    mask = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        most = len(rows) if code == UNLABELED else len(rows) - 1
        mask[rows[: min(round(share * len(rows)), most)]] = True
    return mask
