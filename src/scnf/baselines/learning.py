"""The training loop of models that are no flows: batches, schedule and averaged weights as ours."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from scnf.data.batches import Batches
from scnf.errors import DivergedError
from scnf.recipes.schema import TrainingSpec
from scnf.training import TrainingData
from scnf.training.ema import WeightAverage
from scnf.training.schedule import Pace, Phase, learning_rate

# The loss of rows x, their labels (-1 where hidden) and their weights, which add up to 1.
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def learn(module: nn.Module, loss: Loss, data: TrainingData, spec: TrainingSpec, seed: int) -> int:
    """Minimise a loss over a module's parameters, leave their average in their place and return the steps taken.

    Rows come as the data have them, pixels as whole numbers. The same seed gives the same weights, unless time ends the
    run.
    """
    seconds = None if spec.max_minutes is None else 60 * spec.max_minutes
    pace, batches = Pace(spec.steps, seconds), Batches(data.x, data.y, spec, seed)
    optimizer = torch.optim.AdamW(module.parameters(), spec.learning_rate, spec.betas, weight_decay=spec.weight_decay)
    average = WeightAverage(module, spec.ema)
    step = good = 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        while (progress := pace.progress(step)) < 1:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(spec, step, Phase("together", progress))
            value = loss(*batches(step, progress))
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            norm = nn.utils.clip_grad_norm_(module.parameters(), spec.clip)
            if math.isfinite(value.item()) and math.isfinite(norm.item()):
                optimizer.step()
                average.update(good)
                good += 1
            step += 1
            pace.take_time()
    if not good:
        raise DivergedError(f"training diverged: none of {step} steps had a finite loss and gradient")
    with torch.no_grad():
        for parameter, mean in zip(average.parameters, average.average, strict=True):
            parameter.copy_(mean)
    return step
