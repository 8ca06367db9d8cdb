"""Latents of training rows, stored: what h learns from while f stands still."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from scnf.data.batches import Batches, seeded
from scnf.model import Latents, SemiConditionalFlow
from scnf.nets import let_nets_train

# h takes a fraction of f's time, so a step has many rows.
_ROWS = 512
# More at once leave the processor's cache.
_ROWS_AT_ONCE = 128
# So many times all rows are put into groups and dequantised anew, each time when all that were before have been seen
# so often: f takes longer than h, and a short time must not go by while it encodes.
_DRAWS = 3
_EPOCHS_A_DRAW = 3


class StoredRows(NamedTuple):
    """Rows of a step, ``[B]``, and their latents."""

    rows: Tensor
    latents: Latents


class StoredLatents:
    """The latents of groups of rows, made when they are first needed; a step's group depends on seed and step alone.

    Steps are counted from the first that f stands still for.

    Args:
        model: f as it is now; it must not change any more.
        batches: all training rows, and how they become continuous values.
        device: where f is.
    """

    def __init__(self, model: SemiConditionalFlow, batches: Batches, device: torch.device):
        self.model, self.batches, self.device = model, batches, device
        self.size = min(_ROWS, len(batches.x))
        self.clear = self._clear()  # of all rows, without noise
        self._stored: dict[tuple[int, int], StoredRows] = {}

    def __call__(self, step: int) -> StoredRows:
        """Return the rows of a step."""
        groups = len(self.batches.x) // self.size
        epoch, place = divmod(step, groups)
        draw = epoch % min(1 + epoch // _EPOCHS_A_DRAW, _DRAWS)
        group = int(self._order(groups, epoch, 4)[place])
        if (draw, group) not in self._stored:
            rows = self._order(len(self.batches.x), draw, 5)[group * self.size : (group + 1) * self.size]
            values = self.batches.values(self.batches.x[rows], seeded(self.batches.seed, draw, group, 7))
            self._stored[draw, group] = StoredRows(rows, self._encode(values, draw + 1, group))
        return self._stored[draw, group]

    def first(self, count: int) -> tuple[Tensor, Tensor]:
        """Return about so many rows of the first steps, ``[N]``, and their z_f, ``[N, d]``."""
        stored = list(map(self, range(max(count // self.size, 1))))
        return torch.cat([each.rows for each in stored]), torch.cat([each.latents.z_f for each in stored])

    @torch.no_grad()
    def log_joint(self, model: SemiConditionalFlow, rows: Tensor) -> Tensor:
        """Return log p(z_f, y=k) of some rows for every class, ``[B, K]``, by the h of a model that has this f.

        It is as a prediction tells it: no noise blurs the rows.
        """
        with self._as_in_evaluation(model, 0, 0):
            parts = self.clear.z_f[rows].split(self.size)
            return torch.cat([model.log_joint_of_z_f(z_f.to(self.device)) for z_f in parts])

    def posterior(self, model: SemiConditionalFlow) -> Tensor:
        """Return p(y | x) of all rows, ``[N, K]``, by the h of a model that has this f."""
        log_joint = self.log_joint(model, torch.arange(len(self.batches.x))).cpu()
        return log_joint.softmax(1).nan_to_num(1 / model.classes)

    def _clear(self) -> Latents:
        parts = enumerate(self.batches.x.split(self.size))
        return _joined([self._encode(self.batches.clear(rows), 0, group) for group, rows in parts])

    @torch.no_grad()
    def _encode(self, values: Tensor, draw: int, group: int) -> Latents:
        with self._as_in_evaluation(self.model, draw, group):
            let_nets_train(self.model)  # as fast as there; by such latents h learned before, too
            parts = [
                self.model.only_shared(self.model.encode(part.to(self.device))) for part in values.split(_ROWS_AT_ONCE)
            ]
        return _joined(parts)

    @contextmanager
    def _as_in_evaluation(self, model: SemiConditionalFlow, draw: int, group: int) -> Iterator[None]:
        """Let what a layer draws itself (Hutchinson's probes) depend on the group, whenever it is asked of."""
        with torch.random.fork_rng():
            torch.manual_seed(self.batches.seed * 1_000_003 + draw * 1_000_000_007 + group)
            model.eval()
            yield
            model.train()

    def _order(self, count: int, number: int, purpose: int) -> Tensor:
        return torch.randperm(count, generator=seeded(self.batches.seed, number, purpose))


def _joined(parts: list[Latents]) -> Latents:
    return Latents(*(torch.cat(part).cpu() for part in zip(*parts, strict=True)))
