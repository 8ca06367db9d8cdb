"""How fast recipes for images train and infer here, and how near that is to what the machine's convolutions allow."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scnf.benchmarks import class_count, glow_peer, parallel
from scnf.benchmarks.memory import peak_memory
from scnf.benchmarks.roofline import BareLoop, convolutions_of
from scnf.benchmarks.speed_page import COLUMNS, table_rows, write_pages
from scnf.benchmarks.timing import interleaved, median_ratio
from scnf.benchmarks.workload import ROWS, Workload, workload
from scnf.errors import UserError
from scnf.evaluation.records import current_commit, machine, write_record
from scnf.processor import has_bf16_units
from scnf.recipes import load_recipe
from scnf.recipes.schema import MultiscaleSpec
from scnf.training.compiling import can_compile

__all__ = ["COLUMNS", "measure", "run", "table_rows"]

# Ways to train faster, each with whether this machine has it.
_FASTER: dict[str, tuple[Callable[[], bool], dict[str, object]]] = {
    "compiled": (can_compile, {"compile": True}),
    "bf16": (lambda: has_bf16_units(on_gpu=False), {"products": "bf16"}),
}
# The recipe whose batches are the dearest: half as many altered copies as images come with them.
WITH_COPIES = "mnist-consistency"


@dataclass(frozen=True)
class Effort:
    """How long to measure, and on what: each recipe on batches of its own size, unless ``batch_size`` sets another."""

    batch_size: int | None
    blocks: int
    block_seconds: float
    class_counts: tuple[int, ...]
    labels_batch_size: int
    parallel_seconds: float
    faster: bool


FULL = Effort(
    batch_size=None,
    blocks=5,
    block_seconds=3.0,
    class_counts=(1, 10, 100, 1000),
    labels_batch_size=16,
    parallel_seconds=10.0,
    faster=True,
)
# To see that everything runs; its numbers mean nothing.
QUICK = Effort(
    batch_size=4,
    blocks=1,
    block_seconds=0.0,
    class_counts=(1, 10),
    labels_batch_size=2,
    parallel_seconds=0.0,
    faster=False,
)


def run(
    recipe_names: Sequence[str], out: Path | None, quick: bool = False, say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure all recipes, write record, table and plots to a folder if one is given, and return the record."""
    effort = QUICK if quick else FULL
    for name in recipe_names:
        if not isinstance(load_recipe(name).model.f, MultiscaleSpec):
            raise UserError(f"bench speed measures flows on images, but f of recipe {name!r} is none")
    measured, costs = [], {}
    for name in recipe_names:
        say(f"{name}: training, inference and their convolutions")
        entry = measure(name, effort)
        measured.append(entry)
        say(f"{name}: two processes against one")
        few = (effort.blocks + 2) // 3  # fits take long, and the costs of few and many labels are far apart
        steps = round(effort.parallel_seconds * entry["train_images_per_second"] / entry["batch_size"])
        entry |= parallel.measure(name, entry["batch_size"], few, max(steps, 2))
        say(f"{name}: log_joint for {', '.join(map(str, effort.class_counts))} classes")
        costs[name] = class_count.measure(
            name, effort.class_counts, effort.labels_batch_size, few, effort.block_seconds
        )
    say(f"{WITH_COPIES}: making a batch with altered copies")
    record = {
        "quick": quick,
        "rows": ROWS,
        "speed": measured,
        "copies": {"recipe": WITH_COPIES, "loader_percent_of_step": measure_loader(WITH_COPIES, effort)},
        "labels_batch_size": effort.labels_batch_size,
        "labels": costs,
        "peer_note": None if glow_peer.is_installed() else glow_peer.MISSING,
        "machine": machine(),
        "commit": current_commit(),
    }
    if out is not None:
        write_record(out / "speed.json", record)
        write_pages(out, record)
    return record


def measure(recipe_name: str, effort: Effort) -> dict[str, Any]:
    """Return speed, share of the roofline and peak memory of a recipe, and of normflows' Glow where it is there.

    Everything takes turns in this process; memory is that of processes of its own.
    """
    size = _batch_size(recipe_name, effort)
    works = {recipe_name: workload(recipe_name, size)}
    if glow_peer.is_installed() and (peer := glow_peer.glow_workload(recipe_name, size)):
        works[glow_peer.NAME] = peer
    loops, tasks = {}, {}
    for name, work in works.items():
        convolutions = convolutions_of(work.model, work.infer)
        loops[name] = (convolutions, BareLoop(convolutions, len(work.x)))
        tasks[f"{name} train"], tasks[f"{name} train bare"] = work.train, loops[name][1].train
        if work.draw is not None:
            tasks[f"{name} draw"] = work.draw
        tasks[f"{name} infer"], tasks[f"{name} infer bare"] = work.infer, loops[name][1].infer
    faster = {kind: keys for kind, (is_possible, keys) in _FASTER.items() if effort.faster and is_possible()}
    tasks |= {kind: workload(recipe_name, size, **keys).train for kind, keys in faster.items()}
    times = interleaved(tasks, effort.blocks, effort.block_seconds)
    rows = []
    for name, work in works.items():
        macs = sum(shape.macs * count for shape, count in loops[name][0].items())
        row = {"name": name, "parameters": _parameters(work), "convolution_mmacs": macs / 1e6}
        # A step of training takes a whole batch; all else as many images as go through the model at once.
        at_once = len(work.x)
        for kind, images in (("train", size), ("infer", at_once)):
            taken, bare = times[f"{name} {kind}"], times[f"{name} {kind} bare"]
            row[f"{kind}_images_per_second"] = images / statistics.median(taken)
            row[f"{kind}_roofline_images_per_second"] = at_once / statistics.median(bare)
            row[f"{kind}_percent_of_roofline"] = 100 * median_ratio(bare, taken) * images / at_once
        if work.draw is not None:
            row["loader_percent_of_step"] = 100 * median_ratio(times[f"{name} draw"], times[f"{name} train"])
        rows.append(row)
    ours, *peers = rows
    for kind in faster:
        ours[f"{kind}_images_per_second"] = size / statistics.median(times[kind])
        share = median_ratio(times[f"{recipe_name} train bare"], times[kind])
        ours[f"{kind}_percent_of_roofline"] = 100 * share * size / len(works[recipe_name].x)
    for work_name in ("nothing", "training", "inference"):
        ours[f"{work_name}_peak_mib"] = peak_memory(recipe_name, size, work_name)
    ours["batch_size"], ours["images_at_once"] = size, len(works[recipe_name].x)
    return {"recipe": recipe_name, **{key: value for key, value in ours.items() if key != "name"}, "peers": peers}


def measure_loader(recipe_name: str, effort: Effort) -> float:
    """Return how much of a step the making of its batch takes, in percent."""
    work = workload(recipe_name, _batch_size(recipe_name, effort))
    assert work.draw is not None
    times = interleaved({"train": work.train, "draw": work.draw}, effort.blocks, effort.block_seconds)
    return 100 * median_ratio(times["draw"], times["train"])


def _batch_size(recipe_name: str, effort: Effort) -> int:
    return effort.batch_size or load_recipe(recipe_name).training.batch_size


def _parameters(work: Workload) -> int:
    return sum(parameter.numel() for parameter in work.model.parameters())
