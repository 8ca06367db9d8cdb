"""What is told of a run while it goes on."""

from dataclasses import dataclass


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
