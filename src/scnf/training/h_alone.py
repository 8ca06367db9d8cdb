"""The last part of a run or round, in which f stands still: the h that learns alone, and by what."""

import torch
from torch import Tensor

from scnf.densities import ClassConditional
from scnf.model import Latents, SemiConditionalFlow
from scnf.nets import set_limit
from scnf.recipes.build import build_conditional
from scnf.recipes.schema import Recipe
from scnf.training.data import TrainingData
from scnf.training.losses import limited

# Where no graph tells the classes, the posterior of the h before does, for so much of the time.
_OLD_H_LEADS = 1 / 6
# A row that f throws far out is no more than that: what the nets of h would make of such values, step after step, is
# that a single row outweighs all others. No row that h could tell of gets there: 9 was the most in a trained model.
_FARTHEST = 10.0
# So many nats a component less likely than under a Gaussian is no row that could teach anything.
_FAR_OUT = 10


def fresh_h(
    recipe: Recipe, data: TrainingData, rows: Tensor, z_f: Tensor, guess: Tensor | None, seed: int
) -> ClassConditional:
    """Return a new h that starts from the z_f ``[N, d]`` of some rows ``[N]``, and what is guessed of all."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        new = build_conditional(recipe.model, data.shape, data.classes)
    set_limit(new, _FARTHEST)
    new.initialize(z_f, data.y[rows], None if guess is None else guess[rows])
    return new


@torch.no_grad()
def log_shares(
    model: SemiConditionalFlow, clear: Tensor, guess: Tensor | None, leads: bool, said: Tensor | None, done: float
) -> Tensor:
    """Return how much rows are of each class up to a factor, ``[B, K]``, as logarithms.

    At first that is what a graph guesses of them, while it ``leads``, or what the h before has ``said``; in the end
    the posterior, with the graph's guess as p(y). A row's class does not depend on the noise that it learns with.

    Args:
        model: f and the h that learns.
        clear: z_f of the rows without noise, ``[B, d]``.
        guess: the logarithm of the graph's, ``[B, K]``, if there is one.
        leads: whether the guess stands in for the posterior.
        said: the log-posterior of the h before, ``[B, K]``, where there is no graph.
        done: how much of the time alone has passed.
    """
    if said is not None and done < _OLD_H_LEADS:
        return said
    if guess is not None and leads:
        return guess
    log_joint = model.log_joint_of_z_f(clear)
    return log_joint if guess is None else log_joint + guess


def nll_of_h(model: SemiConditionalFlow, latents: Latents, y: Tensor, of_a_gaussian: float) -> Tensor:
    """Return −log p(x, y) of rows, ``[B]``; one that f has thrown far out, where h cannot bring it back, counts less.

    ``of_a_gaussian`` is a row's log-density under a Gaussian, in the mean.
    """
    far_out = _FAR_OUT * model.dimensions
    return limited(-model.log_joint_of_latents(latents, y), far_out - of_a_gaussian, far_out)
