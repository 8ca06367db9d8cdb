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
from scnf.training.schedule import Phase

# Where no graph tells the classes, the posterior of the h before does, for so much of the time.
_OLD_H_LEADS = 1 / 6
# And for so many steps at least: a new h that went by its own posterior sooner would teach itself its first mistakes.
_STEPS_LED = 300
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


def is_led(phase: Phase, steps: int) -> bool:
    """Return whether an h that has been alone for so many steps still goes by what the h before has said."""
    return phase.done < _OLD_H_LEADS or steps < _STEPS_LED


def nll_of_h(model: SemiConditionalFlow, latents: Latents, y: Tensor, of_a_gaussian: float) -> Tensor:
    """Return −log p(x, y) of rows, ``[B]``; one that f has thrown far out, where h cannot bring it back, counts less.

    ``of_a_gaussian`` is a row's log-density under a Gaussian, in the mean.
    """
    far_out = _FAR_OUT * model.dimensions
    return limited(-model.log_joint_of_latents(latents, y), far_out - of_a_gaussian, far_out)
