"""The metrics of a model on rows of people's own files."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from scnf.errors import UserError
from scnf.evaluation.metrics import OnRows, bits_per_dim, error_percent, expected_calibration_error, mean_nll
from scnf.files.new_rows import NewRows
from scnf.files.notes import UNKNOWN, Labels
from scnf.modelfile import TrainedModel


def measure_rows(rows: NewRows, on_rows: OnRows = lambda done, total: None) -> dict[str, Any]:
    """Return the same metrics for the rows of a file that was opened with its labels."""
    labels, done = Labels.of(rows.trained), 0

    def batches() -> Iterator[tuple[Any, np.ndarray]]:
        nonlocal done
        for batch in rows.batches():
            assert batch.labels is not None
            yield batch.x, labels.codes(batch.labels)
            done += len(batch.labels)
            if rows.rows is not None:
                on_rows(done, rows.rows)

    return measure(rows.trained, batches())


def measure(trained: TrainedModel, batches: Iterable[tuple[Any, np.ndarray]]) -> dict[str, Any]:
    """Return error (%), nll (nats), ece and bits_per_dim of rows, given in batches with the codes of their labels.

    The likelihood is that of all rows, error and calibration are those of the labelled ones, and are None if there are
    none. A label that the model does not know (-2) counts as a mistake.
    """
    parts = [(trained.log_joint(x, seed=number), codes) for number, (x, codes) in enumerate(batches)]
    if not parts:
        raise UserError("there are no rows to measure on")
    log_joint, y = (
        torch.cat([part for part, _ in parts]),
        torch.from_numpy(np.concatenate([codes for _, codes in parts])),
    )
    nll = mean_nll(log_joint)
    labelled = y != -1
    told, truth = log_joint[labelled], y[labelled]
    metrics: dict[str, Any] = {"test_rows": len(y), "test_labels": len(truth), "nll": nll}
    if trained.levels is not None:
        metrics["bits_per_dim"] = bits_per_dim(nll, trained.model.dimensions)
    if len(truth):
        metrics |= {
            "error": error_percent(told, truth),
            "ece": expected_calibration_error(told / trained.temperature, truth),
            "ece_uncalibrated": expected_calibration_error(told, truth),
        }
    if unknown := int((truth == UNKNOWN).sum()):
        metrics["unknown_labels"] = unknown
    return metrics
