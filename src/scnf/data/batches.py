"""Batches of training rows: which rows, with which weight, and as which continuous values."""

import math
from functools import cached_property

import torch
from torch import Tensor

from scnf.data.augment import altered
from scnf.recipes.schema import ConsistencySpec, TrainingSpec


def dequantize(x: Tensor, levels: int, generator: torch.Generator | None = None) -> Tensor:
    """Return (x + u) / levels with uniform noise u: integers 0 … levels−1 to continuous values in [0, 1)."""
    noise = torch.rand(x.shape, generator=generator, device=x.device)
    # Noise within a rounding error of 1 would round up to the next level, the last one to 1.
    return (x + noise.clamp(max=1 - levels * 2**-23)) / levels


def middles(x: Tensor, levels: int) -> Tensor:
    """Return (x + ½) / levels: integers 0 … levels−1 to the middle of their share of [0, 1)."""
    return (x + 0.5) / levels


def seeded(*parts: int) -> torch.Generator:
    """Return a generator that depends on the parts alone."""
    mixed = 0
    for part in parts:
        mixed = (mixed * 6364136223846793005 + part + 1442695040888963407) % 2**63
    return torch.Generator().manual_seed(mixed)


def batch_counts(spec: TrainingSpec, y: Tensor) -> dict[str, int]:
    """Return how many labelled and how many hidden rows a batch has."""
    labelled = int((y >= 0).sum())
    hidden = len(y) - labelled
    size = min(spec.batch_size, len(y)) if spec.labelled_share is None else spec.batch_size
    if not hidden or not labelled:
        return {"labelled": size if labelled else 0, "hidden": size if hidden else 0}
    share = labelled / len(y) if spec.labelled_share is None else spec.labelled_share
    count = min(max(round(size * share), 1), size - 1)
    return {"labelled": count, "hidden": size - count}


class Batches:
    """The batch of every step, a pure function of seed and step: a resumed run sees the same rows. Their weights follow
    the run's progress, which goes by the step too unless time is limited.

    Labelled rows make up a chosen share of the batch; the row weights give them the share of the objective that the
    recipe asks for, whatever their share of the batch. Weights of a batch add up to 1.
    """

    def __init__(self, x: Tensor, y: Tensor, spec: TrainingSpec, seed: int, levels: int | None = None):
        self.x, self.y, self.spec, self.seed, self.levels = x, y, spec, seed, levels
        self.pools = {"labelled": (y >= 0).nonzero()[:, 0], "hidden": (y < 0).nonzero()[:, 0]}
        self.counts = batch_counts(spec, y)
        self.noise_scale = spec.noise * self.deviation if spec.noise else None
        self._orders: dict[tuple[str, int], Tensor] = {}

    @cached_property
    def deviation(self) -> Tensor:
        """Standard deviation of each component of x, by which noise is measured."""
        return self.x.float().std(0)

    def labelled_weight(self, progress: float) -> float:
        """Return the labelled rows' share of the objective when so much of the run, from 0 to 1, is done."""
        labelled, hidden = len(self.pools["labelled"]), len(self.pools["hidden"])
        if not hidden or not labelled:
            return float(bool(labelled))
        end = self.spec.labelled_weight
        end = labelled / (labelled + hidden) if end is None else end
        start = self.spec.labelled_weight_start
        if start is None or progress >= self.spec.labelled_decay:
            return end
        # Geometric: every stretch of the decay takes off the same factor.
        return float(start * (end / start) ** (progress / self.spec.labelled_decay))

    def rows(self, step: int) -> Tensor:
        """Return this step's rows, the labelled ones first."""
        return torch.cat([self._rows(pool, step) for pool, count in self.counts.items() if count])

    def _rows(self, pool: str, step: int) -> Tensor:
        """Return this step's rows of a pool: epoch after epoch, each a new order."""
        rows, count = self.pools[pool], self.counts[pool]
        position, needed, parts = step * count, count, []
        while needed:
            epoch, start = divmod(position, len(rows))
            part = self._order(pool, epoch)[start : start + needed]
            parts.append(part)
            position, needed = position + len(part), needed - len(part)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _order(self, pool: str, epoch: int) -> Tensor:
        if (pool, epoch) not in self._orders:
            self._orders = {key: order for key, order in self._orders.items() if key[0] != pool}
            rows = self.pools[pool]
            generator = seeded(self.seed, epoch, int(pool == "labelled"))
            self._orders[pool, epoch] = rows[torch.randperm(len(rows), generator=generator)]
        return self._orders[pool, epoch]

    def __call__(self, step: int, progress: float | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return x ``[B, ...]``, y ``[B]`` and weights ``[B]`` of a step; progress goes by the steps if not given."""
        rows = self.rows(step)
        weight = self.labelled_weight(step / self.spec.steps if progress is None else progress)
        labelled, hidden = self.counts["labelled"], self.counts["hidden"]
        weights = torch.empty(labelled + hidden)
        weights[:labelled] = weight / max(labelled, 1)
        weights[labelled:] = (1 - weight) / max(hidden, 1)
        return self.values(self.x[rows], seeded(self.seed, step, 2)), self.y[rows], weights

    def copies(self, step: int, spec: ConsistencySpec) -> tuple[Tensor, Tensor]:
        """Return altered copies ``[C, ...]`` of some rows of a step's batch, and the places ``[C]`` of those in it."""
        counts = {pool: math.ceil(count * spec.share) for pool, count in self.counts.items()}
        starts = {"labelled": 0, "hidden": self.counts["labelled"]}
        places = torch.cat([torch.arange(starts[pool], starts[pool] + count) for pool, count in counts.items()])
        generator = seeded(self.seed, step, 3)
        x = self.x[self.rows(step)[places]]
        if x.dim() == 4 and self.levels is not None:
            x = altered(x, spec.augment, generator)
        else:
            x = x + spec.augment.noise * self.deviation * torch.randn(x.shape, generator=generator)
        return self.values(x, generator), places

    def values(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return rows as continuous values, with the noise that training has."""
        if self.levels is not None:
            return dequantize(x, self.levels, generator)
        if self.noise_scale is not None:
            x = x + self.noise_scale * torch.randn(x.shape, generator=generator)
        return x

    def clear(self, x: Tensor) -> Tensor:
        """Return rows as continuous values without noise, as a prediction sees them."""
        return x if self.levels is None else middles(x, self.levels)
