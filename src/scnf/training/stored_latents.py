"""Latents of training rows, stored: what h learns from while f stands still."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from scnf.data.batches import Batches, seeded
from scnf.model import Latents, SemiConditionalFlow

# h takes a fraction of f's time, so a step has many rows.
_ROWS = 512
# So many times all rows are put into groups and dequantised anew; then the same groups come again, in another order.
_DRAWS = 3


class StoredRows(NamedTuple):
    """Rows of a step, ``[B]``, and their latents."""

    rows: Tensor
    latents: Latents


class StoredLatents:
    """The latents of groups of rows, made when they are first needed; a step's group depends on seed and step alone.

    Args:
        model: f as it is now; it must not change any more.
        batches: all training rows, and how they become continuous values.
        device: where f is.
    """

    def __init__(self, model: SemiConditionalFlow, batches: Batches, device: torch.device):
        self.model, self.batches, self.device = model, batches, device
        self.size = min(_ROWS, len(batches.x))
        self.clear = self._clear()  # z_f of all rows without noise, [N, d]
        self._stored: dict[tuple[int, int], StoredRows] = {}

    def __call__(self, step: int) -> StoredRows:
        """Return the rows of a step."""
        groups = len(self.batches.x) // self.size
        epoch, place = divmod(step, groups)
        draw, group = epoch % _DRAWS, int(self._order(groups, epoch, 4)[place])
        if (draw, group) not in self._stored:
            rows = self._order(len(self.batches.x), draw, 5)[group * self.size : (group + 1) * self.size]
            values = self.batches.values(self.batches.x[rows], seeded(self.batches.seed, draw, group, 7))
            self._stored[draw, group] = StoredRows(rows, self._encode(values, draw + 1, group))
        return self._stored[draw, group]

    def first(self, count: int, step: int) -> tuple[Tensor, Tensor]:
        """Return about so many rows of the steps from one on, ``[N]``, and their z_f, ``[N, d]``."""
        stored = list(map(self, range(step, step + max(count // self.size, 1))))
        return torch.cat([each.rows for each in stored]), torch.cat([each.latents.z_f for each in stored])

    @torch.no_grad()
    def posterior(self) -> Tensor:
        """Return p(y | x) of all rows, ``[N, K]``, as a prediction tells it: no noise blurs them."""
        with self._as_in_evaluation(0, 0):
            parts = [self.model.log_joint_of_z_f(z_f.to(self.device)).cpu() for z_f in self.clear.split(self.size)]
        return torch.cat(parts).softmax(1).nan_to_num(1 / self.model.classes)

    def _clear(self) -> Tensor:
        x = self.batches.x.split(self.size)
        return torch.cat([self._encode(self.batches.clear(rows), 0, group).z_f for group, rows in enumerate(x)])

    @torch.no_grad()
    def _encode(self, values: Tensor, draw: int, group: int) -> Latents:
        with self._as_in_evaluation(draw, group):
            latents = self.model.only_shared(self.model.encode(values.to(self.device)))
        return Latents(*(part.cpu() for part in latents))

    @contextmanager
    def _as_in_evaluation(self, draw: int, group: int) -> Iterator[None]:
        """Let what a layer draws itself (Hutchinson's probes) depend on the group, whenever it is asked of."""
        with torch.random.fork_rng():
            torch.manual_seed(self.batches.seed * 1_000_003 + draw * 1_000_000_007 + group)
            self.model.eval()
            yield
            self.model.train()

    def _order(self, count: int, number: int, purpose: int) -> Tensor:
        return torch.randperm(count, generator=seeded(self.batches.seed, number, purpose))
