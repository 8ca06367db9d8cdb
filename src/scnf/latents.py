"""What a model makes of rows before it judges them: z_f, z_h and z_aux."""

from typing import Any, Literal

import torch

from scnf.errors import UserError
from scnf.evaluation.metrics import rows_in_a_batch
from scnf.modelfile import TrainedModel

Latent = Literal["z_f", "z_h", "all"]


@torch.no_grad()
def latents_of(trained: TrainedModel, x: Any, latent: Latent, y: torch.Tensor | None = None) -> torch.Tensor:
    """Return latents of rows, an array or a table: z_f, which tells the label; z_h, meant not to; or [z_aux | z_f].

    z_h needs the class y ``[N]`` of each row; without it, and where y is negative, it is the predicted one.
    """
    check_latent(latent)
    rows = trained.rows(x)
    if latent == "z_h":
        told = trained.log_joint(x).argmax(1) if y is None or bool((y < 0).any()) else None
        y = told if y is None else y if told is None else torch.where(y < 0, told, y)
    parts = []
    for start in range(0, len(rows), size := rows_in_a_batch(trained.model.dimensions)):
        part = rows[start : start + size]
        if latent == "z_h":
            assert y is not None
            parts.append(trained.exact.obfuscate(part, y[start : start + size]))
        else:
            z_f, z_aux, _ = trained.exact.encode(part)
            parts.append(z_f if latent == "z_f" else torch.cat([z_aux, z_f], dim=1))
    return torch.cat(parts)


def check_latent(latent: str) -> None:
    """Refuse what is no latent."""
    if latent not in ("z_f", "z_h", "all"):
        raise UserError(f"latent must be 'z_f', 'z_h' or 'all', got {latent!r}")
