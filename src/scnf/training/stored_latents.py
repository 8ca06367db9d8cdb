"""Latents of training rows, stored: what h learns from while f stands still."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from scnf.data.batches import Batches, seeded
from scnf.densities import ClassConditional
from scnf.model import Latents, SemiConditionalFlow

# h takes a fraction of f's time, so a step has many rows.
_ROWS = 512
# So many times all rows are put into groups and dequantised anew; then the same groups come again, in another order.
_DRAWS = 3


class StoredRows(NamedTuple):
    """Rows of a step, ``[B]``, their latents, and the old h's log-posterior, ``[B, K]``, if it was asked."""

    rows: Tensor
    latents: Latents
    told: Tensor | None


class StoredLatents:
    """The latents of groups of rows, made when they are first needed; a step's group depends on seed and step alone.

    Args:
        model: f as it is now; it must not change any more.
        batches: all training rows, and how they become continuous values.
        device: where f is.
        old_h: the density of z_f that tells the classes of all rows; none does if None.
    """

    def __init__(
        self,
        model: SemiConditionalFlow,
        batches: Batches,
        device: torch.device,
        old_h: ClassConditional | None = None,
    ):
        self.model, self.batches, self.device, self.old_h = model, batches, device, old_h
        self.size = min(_ROWS, len(batches.x))
        self._stored: dict[tuple[int, int], StoredRows] = {}

    def __call__(self, step: int) -> StoredRows:
        """Return the rows of a step."""
        groups = len(self.batches.x) // self.size
        epoch, place = divmod(step, groups)
        return self._group(epoch % _DRAWS, int(self._order(groups, epoch, 4)[place]))

    def _group(self, draw: int, group: int) -> StoredRows:
        key = draw, group
        if key not in self._stored:
            rows = self._order(len(self.batches.x), draw, 5)[group * self.size : (group + 1) * self.size]
            self._stored[key] = self._encode(rows, *key)
        return self._stored[key]

    @torch.no_grad()
    def posterior(self) -> Tensor:
        """Return p(y | x) of all rows, ``[N, K]``, with the first draw of noise."""
        posterior = torch.full((len(self.batches.x), self.model.classes), torch.nan)
        groups = len(self.batches.x) // self.size
        for group in range(groups):
            self._tell(self._group(0, group), posterior, group)
        # Fewer rows than a group's are left over.
        if len(others := posterior[:, 0].isnan().nonzero()[:, 0]):
            self._tell(self._encode(others, 0, groups), posterior, groups)
        return posterior

    def _tell(self, stored: StoredRows, posterior: Tensor, group: int) -> None:
        latents = Latents(*(part.to(self.device) for part in stored.latents))
        with self._as_in_evaluation(0, group):
            told = self.model.log_joint_of_latents(latents).softmax(1)
        posterior[stored.rows] = told.nan_to_num(1 / self.model.classes).cpu()

    @contextmanager
    def _as_in_evaluation(self, draw: int, group: int) -> Iterator[None]:
        """Let what a layer draws itself (Hutchinson's probes) depend on the group, whenever it is asked of."""
        with torch.random.fork_rng():
            torch.manual_seed(self.batches.seed * 1_000_003 + draw * 1_000_000_007 + group)
            self.model.eval()
            yield
            self.model.train()

    def first(self, count: int, step: int) -> tuple[Tensor, Tensor]:
        """Return about so many rows of the steps from one on, ``[N]``, and their z_f, ``[N, d]``."""
        stored = list(map(self, range(step, step + max(count // self.size, 1))))
        return torch.cat([each.rows for each in stored]), torch.cat([each.latents.z_f for each in stored])

    @torch.no_grad()
    def _encode(self, rows: Tensor, draw: int, group: int) -> StoredRows:
        values = self.batches.values(self.batches.x[rows], seeded(self.batches.seed, draw, group, 7))
        told = None
        with self._as_in_evaluation(draw, group):
            latents = self.model.only_shared(self.model.encode(values.to(self.device)))
            if self.old_h is not None:
                told = (self.old_h.log_prob_all(latents.z_f) + self.model.log_label_prior).log_softmax(1).cpu()
        return StoredRows(rows, Latents(*(part.cpu() for part in latents)), told)

    def _order(self, count: int, number: int, purpose: int) -> Tensor:
        return torch.randperm(count, generator=seeded(self.batches.seed, number, purpose))
