"""What is told of a run while it goes on."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """One point of the training curve: means since the last point."""

    restart: int
    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    labelled_weight: float
    held_out: float | None = None  # −log p(x) of the rows that are kept aside, with the averaged weights
    labelled_error: float | None = None  # %, of the labelled rows that were trained on; it flatters


class Curve:
    """The points of a run's training curve, and the sums that the next one is the mean of."""

    def __init__(self) -> None:
        self.points: list[Record] = []
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._sums = [0.0, 0.0, 0.0]  # loss, norm of the gradient, steps
        self._wrong = [0.0, 0.0]  # labelled rows that were told wrongly, and all

    def add_step(self, loss: float, norm: float) -> None:
        """Take in a step."""
        self._sums = [old + new for old, new in zip(self._sums, (loss, norm, 1.0), strict=True)]

    def add_labelled(self, wrong: float, rows: float) -> None:
        """Take in labelled rows, and how many of them were told wrongly."""
        self._wrong = [self._wrong[0] + wrong, self._wrong[1] + rows]

    @property
    def labelled_rows(self) -> float:
        """How many labelled rows the next point knows of."""
        return self._wrong[1]

    def end_point(
        self, restart: int, step: int, learning_rate: float, labelled_weight: float, held_out: float | None
    ) -> None:
        """Make a point of the steps since the last one, if there were any."""
        loss, norm, count = self._sums
        if count:
            wrong, rows = self._wrong
            error = 100 * wrong / rows if rows else None
            self.points.append(
                Record(restart, step, loss / count, norm / count, learning_rate, labelled_weight, held_out, error)
            )
        self._begin_anew()

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        points = [asdict(point) for point in self.points]
        return {"history": points, "sums": self._sums, "wrong_of_labelled": self._wrong}

    def go_on(self, values: dict[str, Any]) -> None:
        """Go on from what ``state`` returned."""
        self.points = [Record(**point) for point in values["history"]]
        self._sums, self._wrong = values["sums"], values.get("wrong_of_labelled", [0.0, 0.0])
