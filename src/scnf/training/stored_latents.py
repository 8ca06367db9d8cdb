"""Latents of training rows, stored: what h learns from while f stands still."""

import torch
from torch import Tensor

from scnf.data.batches import Batches, seeded
from scnf.model import Latents, SemiConditionalFlow

# h takes a fraction of f's time, so a step has many rows.
_ROWS = 512
# So many times all rows are put into groups and dequantised anew; then the same groups come again, in another order.
_DRAWS = 3


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
        self._stored: dict[tuple[int, int], tuple[Tensor, Latents]] = {}

    def __call__(self, step: int) -> tuple[Tensor, Latents]:
        """Return the rows of a step, ``[B]``, and their latents."""
        groups = len(self.batches.x) // self.size
        epoch, place = divmod(step, groups)
        key = epoch % _DRAWS, int(self._order(groups, epoch, 4)[place])
        if key not in self._stored:
            self._stored[key] = self._encode(*key)
        return self._stored[key]

    def first(self, count: int, step: int) -> tuple[Tensor, Tensor]:
        """Return about so many rows of the steps from one on, ``[N]``, and their z_f, ``[N, d]``."""
        rows, latents = zip(*map(self, range(step, step + max(count // self.size, 1))), strict=True)
        return torch.cat(rows), torch.cat([each.z_f for each in latents])

    @torch.no_grad()
    def _encode(self, draw: int, group: int) -> tuple[Tensor, Latents]:
        start = group * self.size
        rows = self._order(len(self.batches.x), draw, 5)[start : start + self.size]
        values = self.batches.values(self.batches.x[rows], seeded(self.batches.seed, draw, group, 7))
        self.model.eval()
        latents = self.model.only_shared(self.model.encode(values.to(self.device)))
        self.model.train()
        return rows, Latents(*(part.cpu() for part in latents))

    def _order(self, count: int, number: int, purpose: int) -> Tensor:
        return torch.randperm(count, generator=seeded(self.batches.seed, number, purpose))
