"""What many tests need: random weights, small data and small recipes."""

import os
import time
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from scnf.recipes import Recipe
from scnf.training import TrainingData

M = TypeVar("M", bound=nn.Module)


def randomize(module: M, scale: float = 0.5, seed: int = 1) -> M:
    """Move every parameter, by its fan-in: layers start as the identity, and an identity hides mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            fan_in = max(parameter[0].numel(), 4)
            parameter.add_(scale / fan_in**0.5 * torch.randn(parameter.shape, generator=generator))
    return module


def blobs(rows: int = 60, classes: int = 2, labelled: int = 10, features: int = 2) -> TrainingData:
    """Return well separated clusters, the first ``labelled`` rows with their labels."""
    generator = torch.Generator().manual_seed(3)
    y = torch.arange(rows) % classes
    x = 0.5 * torch.randn(rows, features, generator=generator)
    x[:, 0] += 3.0 * y
    return TrainingData(x, torch.where(torch.arange(rows) < labelled, y, -1), classes)


def small_recipe(f: dict[str, Any] | None = None, h: dict[str, Any] | None = None, **training: Any) -> Recipe:
    """Return a recipe that trains in a moment; ``f`` and ``h`` replace parts of the model."""
    coupling = {"kind": "coupling", "steps": 2, "hidden": [8]}
    values = {
        "name": "small",
        "model": {"f": f or coupling, "h": h or coupling},
        "training": {"steps": 12, "batch_size": 16, "warmup_steps": 2, "labelled_share": 0.25, **training},
    }
    return Recipe.model_validate(values)


def tiny_digits_recipe(folder: Path) -> Path:
    """Write a recipe that fits digits, as images of integers, in a moment."""
    path = folder / "tiny-digits.toml"
    path.write_text(
        """
name = "tiny-digits"
[model.f]
kind = "multiscale"
levels = [{ channel = 1, keep = 2 }, { channel = 1, keep = 2 }]
hidden = 4
[model.h]
kind = "gaussian"
[training]
steps = 2
batch_size = 32
n_init = 2
""",
        encoding="utf-8",
    )
    return path


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Return a copy of all weights and buffers."""
    return {name: value.clone() for name, value in module.state_dict().items()}


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    """Tell whether two modules agree to the last bit."""
    a, b = first.state_dict(), second.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def wait_for_end(pid: int, seconds: float = 30) -> None:
    """Wait until a process is gone; fail if it stays."""
    deadline = time.monotonic() + seconds
    while _is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended but that nobody has waited for is still listed.
    status = Path(f"/proc/{pid}/stat")
    return not status.is_file() or status.read_text().rpartition(")")[2].split()[0] != "Z"
