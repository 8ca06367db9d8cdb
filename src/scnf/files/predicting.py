"""Predictions for the rows of a file, as they are written."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scnf.errors import UserError
from scnf.files.new_rows import NewRows
from scnf.files.notes import Labels
from scnf.tables import Table


def with_kept(
    kept: dict[str, np.ndarray], answers: dict[str, np.ndarray], others: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    """Return columns that go through, and the answers; a name that both would have is refused."""
    if taken := [name for name in kept if name in answers or name in others]:
        raise UserError(f"column {taken[0]!r} cannot go through (--id): the answers have a column of that name")
    return {**kept, **answers}


@dataclass(frozen=True)
class PredictedRows:
    """A batch of predictions: names of labels ``[N]``, None where the density overflowed, and what goes with them."""

    kept: dict[str, np.ndarray]
    names: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    probabilities: np.ndarray
    log_density: np.ndarray
    outlier: np.ndarray | None

    def table(self) -> Table:
        """Return them as columns."""
        shares = {
            f"probability_{name}": self.probabilities[:, k].astype(np.float32) for k, name in enumerate(self.classes)
        }
        # Not in 32 bits, as the shares: of rows that are far out it would overflow.
        own = {"label": self.labels, **shares, "log_density": self.log_density}
        if self.outlier is not None:
            own["outlier"] = self.outlier
        return Table(with_kept(self.kept, own))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return them as arrays, the probabilities side by side."""
        names = np.array(["" if name is None else name for name in self.names.tolist()], dtype=str)
        arrays = {"label": names, "probabilities": self.probabilities, "log_density": self.log_density}
        if self.outlier is not None:
            arrays["outlier"] = self.outlier
        kept = {name: values.astype(str) if values.dtype == object else values for name, values in self.kept.items()}
        return with_kept(kept, arrays, ("classes",))


def _where_known(names: np.ndarray, known: np.ndarray) -> np.ndarray:
    found = names.astype(object)
    found[~known] = None
    return found


def predict_rows(rows: NewRows, lowest: float | None = None) -> Iterator[PredictedRows]:
    """Yield predictions batch by batch; rows with a log-density below ``lowest`` are outliers."""
    labels = Labels.of(rows.trained)
    waiting = []

    def passed_on() -> Iterator[object]:
        for batch in rows.batches():
            waiting.append(batch)
            yield batch.x

    for told in rows.trained.predict_batches(passed_on()):
        batch = waiting.pop()
        # The first class would stand there by chance.
        known = np.isfinite(told.log_density) & np.isfinite(told.probabilities).all(1)
        # What overflowed is as far out as can be.
        outlier = None if lowest is None else ~(told.log_density >= lowest)
        yield PredictedRows(
            batch.kept,
            _where_known(told.label, known),
            labels.column(told.label, known),
            rows.trained.classes,
            told.probabilities,
            told.log_density,
            outlier,
        )
