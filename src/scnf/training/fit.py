"""Fitting a recipe to data: restarts, checkpoints, and the best training objective wins."""

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from scnf.errors import DivergedError, UserError
from scnf.model import SemiConditionalFlow
from scnf.processor import give_memory_back
from scnf.recipes.build import build_model
from scnf.recipes.schema import Recipe
from scnf.tensorfile import read_tensors, tensors_under, write_tensors
from scnf.training.check import check_training
from scnf.training.data import TrainingData
from scnf.training.devices import Task, add_over_processes, several_devices
from scnf.training.record import Record
from scnf.training.trial import Trial

# Called after each step with the restart, the step, the mean loss of the last recorded stretch and the share of the
# whole run that is done.
OnStep = Callable[[int, int, float, float], None]
# Called with each new point of the training curve.
OnRecord = Callable[[Record], None]

# Changes when a checkpoint holds something else than before.
_STATE = 2


@dataclass
class Fitted:
    """A trained model (averaged weights, evaluation mode), its training curve and what it took.

    ``objectives`` and ``steps`` hold a value for each restart, ``taken`` tells of each which of the h that were alone
    stayed, since they made the rows more likely than the h before.
    """

    model: SemiConditionalFlow
    history: list[Record]
    objectives: list[float]
    steps: list[int]
    taken: list[list[bool]]
    seconds: float
    cpu_seconds: float

    @property
    def course(self) -> dict[str, Any]:
        """What a record tells of the restarts."""
        taken = {"new_h_taken": self.taken} if any(self.taken) else {}
        return {"objectives": self.objectives, "steps": self.steps, **taken}

    @property
    def parameters(self) -> int:
        """Number of trained numbers."""
        return sum(p.numel() for p in self.model.parameters())


@dataclass
class _Best:
    """The best restart so far."""

    objective: float = float("inf")
    weights: dict[str, Tensor] = field(default_factory=dict)


def fit(
    recipe: Recipe,
    data: TrainingData,
    seed: int = 0,
    checkpoint: Path | None = None,
    resume: bool = False,
    on_step: OnStep = lambda restart, step, loss, done: None,
    fabric: Fabric | None = None,
    checkpoint_seconds: float = 20.0,
    devices: int = 1,
    on_record: OnRecord = lambda record: None,
) -> Fitted:
    """Train ``recipe.training.n_init`` models from different starts and return the one with the best objective.

    With ``recipe.training.max_minutes`` the schedule is fitted to that time, shared among the restarts: learning rate
    and weights follow the clock where it is ahead of the steps, and a restart that would find no time left is not
    begun. All that happens in here counts, in every session of a resumed run, but for the last objective.

    Args:
        recipe: what to build and how to train it.
        data: the rows; hidden labels are -1.
        seed: fixes the start, the batches and the noise. The same seed gives the same weights on one machine, unless
            time is limited: how many steps it allows is never twice the same.
        checkpoint: where to keep the state of the run, written now and then.
        resume: go on from ``checkpoint`` if it is there; the result is that of an uninterrupted run.
        on_step: called after each step with the restart, the step, the mean loss of the last recorded stretch and the
            share of the run that is done. A KeyboardInterrupt that it raises stops the run after a last checkpoint.
        fabric: where to run; one CPU or GPU process by default. A launched Fabric with several processes, as on a
            cluster, is fine: call this in each of them, with the same arguments.
        checkpoint_seconds: time between checkpoints.
        devices: GPUs, or CPU processes, that share every batch. They take the steps of one process up to rounding
            (but for layers that draw numbers while training, which draw others), and a run may be resumed with more or
            fewer of them.
        on_record: called with each new point of the training curve.

    Example:
        >>> import torch
        >>> from scnf import TrainingData, fit, load_recipe, load_split
        >>> split = load_split("moons", labels=10, seed=0)
        >>> recipe = load_recipe("toy", {"training.steps": 2})
        >>> fit(recipe, TrainingData.of(split)).model.log_joint(torch.tensor(split.x_test)).shape
        torch.Size([500, 2])
    """
    if devices < 1:
        raise UserError(f"devices must be at least 1, got {devices}")
    if devices > 1 and fabric is None:
        check_training(recipe.training, data, devices)  # before there are processes to end
        with several_devices(Task(recipe, data, seed, checkpoint, resume), devices) as shared:
            return fit(recipe, data, seed, checkpoint, resume, on_step, shared, checkpoint_seconds, on_record=on_record)
    run = _Run(recipe, data, seed, checkpoint, fabric or Fabric(accelerator="auto", devices=1), checkpoint_seconds)
    if resume and checkpoint is not None and checkpoint.is_file():
        run.load()
    try:
        run.train(on_step, on_record)
    finally:
        give_memory_back()
    return run.result()


class _Run:
    """All restarts of a fit, and where it stands among them."""

    def __init__(
        self,
        recipe: Recipe,
        data: TrainingData,
        seed: int,
        checkpoint: Path | None,
        fabric: Fabric,
        checkpoint_seconds: float,
    ):
        self.checkpoint_seconds = checkpoint_seconds
        self.recipe, self.data, self.seed, self.checkpoint, self.fabric = recipe, data, seed, checkpoint, fabric
        self.best = _Best()
        self.objectives: list[float] = []
        self.steps: list[int] = []
        self.taken: list[list[bool]] = []
        self.history: list[Record] = []
        self.trial: Trial | None = None
        self.guess: Tensor | None = None
        self.seconds_before = self.cpu_seconds_before = self.cpu_seconds_of_others = 0.0
        self.started, self.cpu_started = time.perf_counter(), time.process_time()
        self.saved = time.perf_counter()

    def train(self, on_step: OnStep, on_record: OnRecord) -> None:
        n_init = self.recipe.training.n_init

        def after_step(trial: Trial) -> None:
            loss = trial.history[-1].loss if trial.history else float("nan")
            if trial.history and trial.history[-1].step == trial.step:
                on_record(trial.history[-1])
            try:
                on_step(trial.restart, trial.step, loss, (trial.restart + trial.progress) / n_init)
            except KeyboardInterrupt:
                self.save()
                raise
            if time.perf_counter() - self.saved > self.checkpoint_seconds:
                self.save()

        diverged: DivergedError | None = None
        while len(self.objectives) < n_init:
            if self.trial is None:
                seconds = self._seconds_for_a_restart()
                if seconds is not None and seconds <= 0 and self.objectives:
                    break
                restart = len(self.objectives)
                self.trial = Trial(self.recipe, self.data, self.seed, restart, self.fabric, seconds, self.guess)
            try:
                self.trial.run(after_step)
                objective = self.trial.objective()
            except DivergedError as error:
                diverged, objective = error, math.inf
            # Nothing is smaller than NaN: as the first objective it would beat all that follow.
            self._finish_trial(self.trial, objective if math.isfinite(objective) else math.inf)
        own = self._own_cpu_seconds()
        self.cpu_seconds_of_others = add_over_processes(self.fabric, own)[0] - own
        self.save()
        # One restart that diverged is no harm while another did not.
        if not any(map(math.isfinite, self.objectives)):
            # A resumed run may have diverged before it was resumed.
            diverged = diverged or DivergedError(
                f"training diverged in all {len(self.objectives)} restarts; a smaller training.learning_rate "
                f"(now {self.recipe.training.learning_rate:g}) or training.clip (now {self.recipe.training.clip:g}) "
                "would help; the weights before that are kept"
            )
            diverged.model = self.result().model
            raise diverged

    def _finish_trial(self, trial: Trial, objective: float) -> None:
        if objective < self.best.objective or not self.best.weights:
            with trial.average.applied():
                weights = {name: value.detach().clone() for name, value in trial.model.state_dict().items()}
            self.best = _Best(objective, weights)
        self.objectives.append(objective)
        self.steps.append(trial.step)
        self.taken.append(trial.taken)
        self.history.extend(trial.history)
        self.trial, self.guess = None, trial.foretold.guess

    def _seconds_for_a_restart(self) -> float | None:
        """Return an equal share of the time that is left; a restart that ended early leaves more to the others."""
        limit = self.recipe.training.max_minutes
        if limit is None:
            return None
        seconds = (60 * limit - self._clocks()[0]) / (self.recipe.training.n_init - len(self.objectives))
        return self.fabric.broadcast(seconds)  # the first process's clock decides for all

    def result(self) -> Fitted:
        counts = torch.bincount(self.data.y[self.data.y >= 0], minlength=self.data.classes)
        model = build_model(self.recipe.model, self.data.shape, self.data.classes, counts)
        model.load_state_dict(self.best.weights)
        return Fitted(model.eval(), self.history, self.objectives, self.steps, self.taken, *self._clocks())

    def _clocks(self) -> tuple[float, float]:
        seconds = self.seconds_before + time.perf_counter() - self.started
        return seconds, self.cpu_seconds_before + self._own_cpu_seconds() + self.cpu_seconds_of_others

    def _own_cpu_seconds(self) -> float:
        return time.process_time() - self.cpu_started

    @cached_property
    def _fingerprint(self) -> str:
        """What a checkpoint must agree with: what it holds, model, training, seed and rows."""
        recipe, data = self.recipe.essence().model_dump_json(), self.data
        digest = hashlib.sha256(f"{_STATE} {recipe} {self.seed} {data.classes} {data.levels}".encode())
        for tensor in (data.x, data.y):
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.contiguous().view(-1).numpy().data)
        return digest.hexdigest()

    def save(self) -> None:
        """Write a checkpoint if one was asked for; the first process does it for all."""
        if self.checkpoint is None or not self.fabric.is_global_zero:
            return
        tensors = {f"best.{name}": value for name, value in self.best.weights.items()}
        seconds, cpu_seconds = self._clocks()
        values: dict[str, Any] = {
            "fingerprint": self._fingerprint,
            "objectives": self.objectives,
            "steps": self.steps,
            "taken": self.taken,
            "best_objective": self.best.objective,
            "history": [vars(record) for record in self.history],
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        }
        if self.trial is not None:
            trial_tensors, values["trial"] = self.trial.state()
            tensors |= {f"trial.{name}": value for name, value in trial_tensors.items()}
        write_tensors(self.checkpoint, tensors, values)
        self.saved = time.perf_counter()

    def load(self) -> None:
        assert self.checkpoint is not None
        tensors, values = read_tensors(self.checkpoint)
        if values.get("fingerprint") != self._fingerprint:
            raise UserError(
                f"{self.checkpoint} belongs to another recipe, seed, data set or version of scnf and cannot be resumed"
            )
        self.objectives, self.steps, self.taken = values["objectives"], values["steps"], values["taken"]
        self.best = _Best(values["best_objective"], tensors_under("best.", tensors))
        self.history = [Record(**record) for record in values["history"]]
        self.seconds_before, self.cpu_seconds_before = values["seconds"], values["cpu_seconds"]
        if "trial" in values:
            self.trial = Trial(self.recipe, self.data, self.seed, values["trial"]["restart"], self.fabric)
            self.trial.load_state(tensors_under("trial.", tensors), values["trial"])
