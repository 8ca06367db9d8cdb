"""What the training loop costs above the bare forward, backward and optimiser step, on the toy model."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from scnf.data import load
from scnf.evaluation.records import current_commit, machine, write_record
from scnf.recipes import load_recipe
from scnf.training.data import TrainingData
from scnf.training.objective import training_objective
from scnf.training.trial import Trial

_WARMUP_STEPS = 30


def run(out: Path | None = None) -> dict[str, Any]:
    """Measure, write the record to a folder if one is given, and return it."""
    record = {**measure(), "commit": current_commit()}
    if out is not None:
        write_record(out / "overhead.json", record)
    return record


def measure(blocks: int = 20, steps_per_block: int = 20, recipe_name: str = "toy") -> dict[str, Any]:
    """Return milliseconds a step of the bare step and of the loop, and the overhead in percent.

    Blocks of bare steps and of loop steps take turns in one process, so that both meet the same machine; the overhead
    is the median over the pairs of blocks.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        bare, loop = _steps(recipe_name)
        _time(bare, _WARMUP_STEPS), _time(loop, _WARMUP_STEPS)
        pairs = [(_time(bare, steps_per_block), _time(loop, steps_per_block)) for _ in range(blocks)]
        measured_on = machine()  # here, where the number of threads is that of the measurement
    finally:
        torch.set_num_threads(threads)
    overhead = statistics.median(with_loop / without - 1 for without, with_loop in pairs)
    return {
        "recipe": recipe_name,
        "bare_ms": 1000 * statistics.median(pair[0] for pair in pairs),
        "loop_ms": 1000 * statistics.median(pair[1] for pair in pairs),
        "overhead_percent": 100 * overhead,
        "machine": measured_on,
    }


def _steps(recipe_name: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return one bare step and one step of the loop, on models of their own."""
    split = load("moons", seed=0)
    data = TrainingData.of(split)
    fabric = Fabric(accelerator="cpu", devices=1)
    recipe = load_recipe(recipe_name, {"training.steps": 1_000_000})
    trial = Trial(recipe, data, seed=0, restart=0, fabric=fabric)
    other = Trial(recipe, data, seed=0, restart=1, fabric=fabric)
    model, spec = other.model, other.spec
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x, y, weights = other.batches(0)

    def bare() -> None:
        loss = training_objective(model(x), y, weights, spec)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return bare, trial.take_step


def _time(step: Callable[[], None], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - started) / count
