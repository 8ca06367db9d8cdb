"""Several devices of one machine: a process for each, of which the caller's own is the first.

Lightning's launchers run the program anew (``ddp``), move all work to other processes (``ddp_spawn``) or fork one that
has threads (``ddp_fork``). Here the caller stays rank 0, so that callbacks, Ctrl-C and the result need no way from one
process to another, and scripts need no main guard. The other ranks read what to do from a file; they end with the
pipe that the caller holds, however the caller ends.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor, distributed
from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.distributed.distributed_c10d import Store
from torch.nn.parallel import DistributedDataParallel

from scnf.errors import DivergedError, UserError
from scnf.recipes.schema import Recipe
from scnf.tensorfile import read_tensors, write_tensors
from scnf.training.data import TrainingData

_HOST = "127.0.0.1"
_WORKER = "from scnf.training.worker import main; main()"
_NEW_NAME = "forward_sync_buffers"
_SYNC_BUFFERS = _NEW_NAME if _NEW_NAME in signature(DistributedDataParallel).parameters else "broadcast_buffers"
# Buffers are set before training and stay: to send them round at each step would be for nothing.
_DDP_OPTIONS: dict[str, Any] = {_SYNC_BUFFERS: False, "gradient_as_bucket_view": True}
_SECONDS_TO_START = 1800  # one that ends is noticed at once; one that is slow is waited for
_SECONDS_TO_END = 10


@dataclass(frozen=True)
class Task:
    """What all processes fit together."""

    recipe: Recipe
    data: TrainingData
    seed: int
    checkpoint: Path | None
    resume: bool

    def write(self, path: Path) -> None:
        """Write it for the other processes to read."""
        values = {
            "recipe": self.recipe.model_dump(mode="json"),
            "classes": self.data.classes,
            "levels": self.data.levels,
            "seed": self.seed,
            "checkpoint": None if self.checkpoint is None else str(self.checkpoint),
            "resume": self.resume,
        }
        write_tensors(path, {"x": self.data.x, "y": self.data.y}, values)

    @classmethod
    def read(cls, path: Path) -> "Task":
        """Read what ``write`` wrote."""
        tensors, values = read_tensors(path)
        data = TrainingData(tensors["x"], tensors["y"], values["classes"], values["levels"])
        checkpoint = None if values["checkpoint"] is None else Path(values["checkpoint"])
        return cls(Recipe.model_validate(values["recipe"]), data, values["seed"], checkpoint, values["resume"])


class _AllStarted(LightningEnvironment):
    """Tells Fabric that there is no process left to start, and which one this is."""

    def __init__(self, rank: int):
        super().__init__()
        self._rank = rank

    @property
    def creates_processes_externally(self) -> bool:
        return True

    def local_rank(self) -> int:
        return self._rank

    def node_rank(self) -> int:
        return 0


@contextmanager
def several_devices(task: Task, devices: int) -> Iterator[Fabric]:
    """Start the other processes on the task and give the Fabric of this one, which is rank 0."""
    check_devices(devices)
    threads = max(1, torch.get_num_threads() // devices)
    store = TCPStore(_HOST, 0, devices, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryDirectory(prefix="scnf-") as folder, _threads(threads):
        path = Path(folder) / "task.safetensors"
        task.write(path)
        workers = [_start_worker(path, rank, devices, store.port) for rank in range(1, devices)]
        try:
            _wait_until_ready(workers, store)
            with joined(store, 0, devices) as fabric:
                yield fabric
        except DivergedError:
            raise
        except RuntimeError as error:
            # A collective fails when another process is gone: that process is the news.
            _tell_of_the_dead(workers, error)
            raise
        finally:
            for worker in workers:
                _end(worker)


@contextmanager
def joined(store: Store, rank: int, devices: int) -> Iterator[Fabric]:
    """Give the Fabric of one of several processes, all of which have to come."""
    on_gpu = torch.cuda.is_available()
    distributed.init_process_group("nccl" if on_gpu else "gloo", store=store, rank=rank, world_size=devices)
    try:
        fabric = Fabric(
            accelerator="cuda" if on_gpu else "cpu",
            devices=devices,
            strategy=DDPStrategy(**_DDP_OPTIONS),
            plugins=[_AllStarted(rank)],
        )
        fabric.launch()
        with warnings.catch_warnings():
            # One channel is first and last at once: the gradient of a part may be laid out the other way.
            warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
            yield fabric
    finally:
        distributed.destroy_process_group()


def connect(port: int, rank: int, devices: int) -> Store:
    """Return the store through which the processes find each other, and tell it that this one is ready."""
    store = TCPStore(_HOST, port, devices, timeout=timedelta(seconds=_SECONDS_TO_START))
    store.set(_ready(rank), "")
    return store


def _ready(rank: int) -> str:
    return f"ready-{rank}"


def check_devices(devices: int) -> None:
    """Refuse processes that cannot be started here."""
    if distributed.is_initialized():
        raise UserError("this process takes part in a distributed run already: give fit its Fabric, not devices")
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else None
    if gpus is not None and devices > gpus:
        raise UserError(f"{devices} devices were asked for, but there are {gpus} GPUs")


@contextmanager
def _threads(threads: int) -> Iterator[None]:
    """Compute with so many threads for a while; Fabric would set them for good where the variable is not set."""
    before, variable = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        if variable is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = variable


def _start_worker(task: Path, rank: int, devices: int, port: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _WORKER, str(task), str(rank), str(devices), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # What can be imported here can be imported there.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        # Ctrl-C is for the caller, who stops between two steps.
        start_new_session=True,
    )


def _wait_until_ready(workers: "list[subprocess.Popen[bytes]]", store: Store) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    names = [_ready(rank) for rank in range(1, len(workers) + 1)]
    while not store.check(names):
        if any(worker.poll() is not None for worker in workers):
            raise RuntimeError("not all processes have started")
        if time.monotonic() > deadline:
            raise UserError(f"not all of {len(workers) + 1} processes were ready after {_SECONDS_TO_START} seconds")
        time.sleep(0.01)


def _tell_of_the_dead(workers: "list[subprocess.Popen[bytes]]", error: RuntimeError) -> None:
    deadline = time.monotonic() + _SECONDS_TO_END  # one that breaks its connections has still to end
    while time.monotonic() < deadline:
        for number, worker in enumerate(workers, start=2):
            if worker.poll() is not None:
                told = f"process {number} of {len(workers) + 1} ended before the run did"
                raise UserError(f"{told}, with exit code {worker.returncode}") from error
        time.sleep(0.05)


def _end(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.close()
    try:
        worker.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def add_over_processes(fabric: Fabric, *values: float) -> tuple[float, ...]:
    """Return the sums of what the processes have."""
    if fabric.world_size == 1:
        return values
    own = torch.tensor(values, dtype=torch.float64, device=fabric.device)
    return tuple(cast(Tensor, fabric.all_reduce(own, reduce_op="sum")).tolist())
