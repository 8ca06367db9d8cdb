"""How likely the training rows are: what a new row is compared with before it is called unusual."""

from typing import Any

import numpy as np

from scnf.modelfile import TrainedModel

_QUANTILES = 1001
_MOST_ROWS = 4096  # the 1 % quantile of so many is known to within 0.16 %
_ROWS_AT_A_TIME = 512


def density_quantiles(trained: TrainedModel, rows: Any) -> tuple[float, ...]:
    """Return log p(x) of training rows, a table or an array, at quantiles from 0 to 1 in even steps.

    Of very many rows some stand for all of them.
    """
    if len(rows) > _MOST_ROWS:
        rows = rows[np.arange(_MOST_ROWS) * len(rows) // _MOST_ROWS]
    parts = (rows[start : start + _ROWS_AT_A_TIME] for start in range(0, len(rows), _ROWS_AT_A_TIME))
    densities = np.concatenate([part.log_density for part in trained.predict_batches(parts)]).astype(np.float64)
    densities = densities[np.isfinite(densities)]
    if not len(densities):
        return ()
    return tuple(np.quantile(densities, np.linspace(0, 1, min(len(densities), _QUANTILES))).tolist())
