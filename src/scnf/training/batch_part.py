"""The part of a batch that goes through the model at once, in one of several processes or one after the other."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class BatchPart:
    """Each ``count``-th row from ``index`` on: the labelled ones stand first, so all parts have about as many."""

    index: int
    count: int

    def of(self, rows: Tensor) -> Tensor:
        """Return this part of a batch's rows."""
        return rows if self.count == 1 else rows[self.index :: self.count]

    def places(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return which of some places in the batch are in this part, as a mask, and where in it."""
        own = places % self.count == self.index
        return own, places[own] // self.count

    def split(self, rows: int, size: int | None) -> list["BatchPart"]:
        """Return what this part of a batch of so many rows is made of, where nothing has more than ``size`` rows."""
        pieces = 1 if size is None else -(-rows // (self.count * size))
        return [BatchPart(self.index + piece * self.count, self.count * pieces) for piece in range(pieces)]
