"""What is known of the classes of training rows before the model is asked."""

from torch import Tensor

from scnf.recipes.schema import TrainingSpec
from scnf.training.data import TrainingData
from scnf.training.graph import spread_labels

# Nothing is foretold so surely that the density could not say otherwise.
_LEAST = 1e-6


class Foretold:
    """How much all rows are of each class, ``[N, K]``: as a graph guesses, and as an h has said that was alone.

    Args:
        data: all rows.
        spec: says whether there is a graph.
        guess: that of the graph, if it was made before.
    """

    def __init__(self, data: TrainingData, spec: TrainingSpec, guess: Tensor | None = None):
        self.data = data
        self.guess = guess
        self.said: Tensor | None = None
        self.any_hidden = bool((data.y < 0).any())
        self.has_graph = bool(spec.guess) and self.any_hidden

    def by_graph(self) -> Tensor | None:
        """Return what the graph guesses, made when it is first asked for; None without one."""
        if self.has_graph and self.guess is None:
            # The same in all processes and after a stop, so it is kept nowhere.
            self.guess = spread_labels(self.data.x, self.data.y, self.data.classes)
        return self.guess if self.has_graph else None

    def by_all(self) -> Tensor | None:
        """Return what an h has said, or else the graph guesses; None if neither is there."""
        return self.by_graph() if self.said is None else self.said


def log_of(shares: Tensor, rows: Tensor) -> Tensor:
    """Return the logarithm of what is foretold of some rows."""
    return shares[rows].clamp(min=_LEAST).log()
