"""The last part of a run or round, in which f stands still: the h that learns alone, and by what."""

import math
from functools import cached_property

import torch
from torch import Tensor

from scnf.data.batches import Batches
from scnf.densities import ClassConditional
from scnf.model import Latents, SemiConditionalFlow
from scnf.nets import FARTHEST, set_limit
from scnf.recipes.build import build_conditional
from scnf.recipes.schema import Recipe
from scnf.training.batch_part import BatchPart
from scnf.training.drawn import drawn_for
from scnf.training.foretold import Foretold, log_of
from scnf.training.losses import limited, marginal_nll
from scnf.training.schedule import Phase
from scnf.training.stored_latents import StoredLatents

# Where no graph tells the classes, the posterior of the h before does, for so much of the time.
_OLD_H_LEADS = 1 / 6
# And for so many steps at least: a new h that went by its own posterior sooner would teach itself its first mistakes.
_STEPS_LED = 300
# Rows that set the data-dependent start.
_FIRST_ROWS = 4096
# So many nats a component less likely than under a Gaussian is no row that could teach anything.
_FAR_OUT = 10
# Rows by which two h are compared: the means of so many tell differences of some tenths of a nat.
_ROWS_TO_JUDGE = 4096


def is_led(phase: Phase, steps: int) -> bool:
    """Return whether an h that has been alone for so many steps still goes by what the h before has said."""
    return phase.done < _OLD_H_LEADS or steps < _STEPS_LED


class HAlone:
    """A new h that learns while f stands still, and the h before it.

    Args:
        model: f, and the h that is to learn; at first the one before it.
        recipe: how they were made and learn.
        batches: all training rows.
        foretold: what is known of their classes.
        of_a_gaussian: a row's log-density under a Gaussian, in the mean.
        before: the weights of the h before, where the model has the new one already.
    """

    def __init__(
        self,
        model: SemiConditionalFlow,
        recipe: Recipe,
        batches: Batches,
        foretold: Foretold,
        of_a_gaussian: float,
        before: dict[str, Tensor] | None = None,
    ):
        self.model, self.recipe, self.batches, self.foretold = model, recipe, batches, foretold
        self.device = model.log_label_prior.device
        h = self._built().to(self.device)
        h.load_state_dict(model.conditional.state_dict() if before is None else before)
        self.before = SemiConditionalFlow(model.flow, h, model.shape, model.log_label_prior.exp())
        self.stored = StoredLatents(model, batches, self.device)
        self._far_out = _FAR_OUT * model.dimensions
        self._limit = self._far_out - of_a_gaussian

    @cached_property
    def _lead(self) -> Tensor | None:
        """What leads the new h, ``[N, K]``: what an h has said that was alone, or else what the h before says."""
        by_h_before = self.foretold.said is None and self.foretold.any_hidden and not self.foretold.has_graph
        return self.stored.posterior(self.before) if by_h_before else self.foretold.said

    def begin(self) -> None:
        """Put a new h in the place of the one before, which had to follow f, ended in a bad place and stays there."""
        new = self._built()
        set_limit(new, FARTHEST)
        rows, z_f = self.stored.first(_FIRST_ROWS)
        guess = self.foretold.by_graph()
        new.initialize(z_f, self.batches.y[rows], None if guess is None else guess[rows])
        self.model.conditional.load_state_dict(new.state_dict())

    def _built(self) -> ClassConditional:
        # What a step draws must not depend on whether a resumed run has to build here.
        with torch.random.fork_rng():
            torch.manual_seed(self.batches.seed)
            return build_conditional(self.recipe.model, self.model.shape, self.model.classes)

    def loss(self, step: int, phase: Phase, steps: int, progress: float, part: BatchPart) -> Tensor:
        """Return a process's part of equation 1 of stored latents, at a step of the run before which h had so many.

        Classes are drawn from the posterior, which gives the gradient of the marginal likelihood (Fisher's identity).
        """
        rows, latents = self.stored(steps)
        y, own = self.batches.y[rows], part.of(rows)
        shares = self.log_shares(own, is_led(phase, steps), progress)
        drawn = drawn_for(part, shares, part.of(y).to(self.device), len(rows), (self.batches.seed, step))
        nll = -self.model.log_joint_of_latents(Latents(*(part.of(each).to(self.device) for each in latents)), drawn)
        return self._limited(nll).sum() / len(rows)

    @torch.no_grad()
    def log_shares(self, rows: Tensor, led: bool, progress: float) -> Tensor:
        """Return how much some rows ``[B]`` are of each class up to a factor, ``[B, K]``, as logarithms.

        At first that is what the h before has said of them, or a graph guesses; then the posterior, with the graph's
        guess as p(y). It is that of rows without noise: a row's class does not depend on the noise that it learns with.
        """
        if led and self._lead is not None:
            return log_of(self._lead, rows).to(self.device)
        guess = self.foretold.by_graph()
        if guess is not None and progress < self.recipe.training.guess:
            return log_of(guess, rows).to(self.device)
        log_joint = self.model.log_joint_of_z_f(self.stored.clear.z_f[rows].to(self.device))
        return log_joint if guess is None else log_joint + log_of(guess, rows).to(self.device)

    def is_better(self) -> bool:
        """Return whether the new h makes the rows, without noise, more likely than the one before.

        By equation 1, as h learns: a row that f has thrown far out counts less. A new h needs its steps; after too few
        of them it is worse than the one that it was to follow.
        """
        count = len(self.batches.x)
        judged = min(count, _ROWS_TO_JUDGE)
        rows = torch.arange(judged) * count // judged
        return self._nll(self.model, rows) < self._nll(self.before, rows)

    def put_back(self) -> None:
        """Put the h before in its place again."""
        self.model.conditional.load_state_dict(self.before.conditional.state_dict())

    @torch.no_grad()
    def _nll(self, model: SemiConditionalFlow, rows: Tensor) -> float:
        nll = (
            marginal_nll(self.stored.log_joint(model, rows).cpu(), self.batches.y[rows]) - self.stored.clear.ladj[rows]
        )
        return float(self._limited(nll.nan_to_num(math.inf)).double().mean())

    def _limited(self, nll: Tensor) -> Tensor:
        """Let a row that f has thrown far out, where h cannot bring it back, count less."""
        return limited(nll, self._limit, self._far_out)
