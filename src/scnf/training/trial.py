"""One training run from one random start."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from scnf.data.batches import Batches, seeded
from scnf.model import SemiConditionalFlow
from scnf.nets import FARTHEST, set_limit, set_products
from scnf.processor import fast_products, keep_memory
from scnf.recipes.build import build_model
from scnf.recipes.schema import Recipe
from scnf.tensorfile import tensors_under
from scnf.training.batch_part import BatchPart
from scnf.training.check import check_training, diverged_error, nothing_finite_error
from scnf.training.compiling import compiled
from scnf.training.data import TrainingData, gaussian_log_density
from scnf.training.devices import add_over_processes
from scnf.training.ema import WeightAverage
from scnf.training.foretold import Foretold
from scnf.training.guess import start_rows
from scnf.training.h_alone import HAlone
from scnf.training.held_out import HeldOut
from scnf.training.mean_objective import mean_objective
from scnf.training.objective import wrongly_told
from scnf.training.optimizer import let_h_learn, load_state_by_name, make_optimizer, set_rate, state_by_name
from scnf.training.record import Curve, Record
from scnf.training.schedule import Pace, Phase, Turn, learning_rate, phase_of, rounds_in
from scnf.training.together import Together, Told

# So many batches in a row without a finite loss and gradient end the run.
_PATIENCE = 20
_RECORDS = 200
# Hidden rows that set the data-dependent start; labelled ones all do.
_FIRST_ROWS = 4096
_HELD_OUT_ROWS = 2048
# Labelled rows that are looked at for a point of the curve, where no step tells how many of them are told wrongly.
_ROWS_TO_LOOK_AT = 100
# After so many steps a run knows how many there will be in its time.
_STEPS_OF_PACE = 100


class Trial:
    """A model in training: weights, optimiser, average and position.

    Deterministic given the seed and restart, unless ``seconds`` limits its time. Several processes have each the whole
    of it and take the same steps; each takes its part of every batch. ``guess`` is that of an earlier restart, which
    need not be made again.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: TrainingData,
        seed: int,
        restart: int,
        fabric: Fabric,
        seconds: float | None = None,
        guess: Tensor | None = None,
    ):
        keep_memory()
        self.pace = Pace(recipe.training.steps, seconds)
        self.recipe, self.spec, self.restart, self.fabric = recipe, recipe.training, restart, fabric
        self.own_part = BatchPart(fabric.global_rank, fabric.world_size)
        check_training(self.spec, data, self.own_part.count)
        data, aside = data.hold_out(self.spec.holdout)
        self.data = data
        self.seed = seed * 1009 + restart
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            counts = torch.bincount(data.y[data.y >= 0], minlength=data.classes)
            self.model: SemiConditionalFlow = build_model(recipe.model, data.shape, data.classes, counts)
            first = data.excerpt(_FIRST_ROWS)
            self.model.initialize(*start_rows(first, self.spec))
        self._of_a_gaussian = gaussian_log_density(first.continuous())
        set_limit(self.model.flow, FARTHEST)
        set_products(self.model, torch.bfloat16 if self.spec.products == "bf16" else None)
        # Only the steps of training are compiled: all else is called too seldom, and with batches of other sizes.
        trained = compiled(self.model) if self.spec.compile else self.model
        self.module, self.optimizer = fabric.setup(trained, make_optimizer(self.model, self.spec))
        self.average = WeightAverage(self.model, self.spec.ema)
        # The average up to the last finite loss: the step after it may be the one that ruins the weights.
        self._good = [value.clone() for value in self.average.average]
        # Labels are not looked at there, so rows that have one are as good as others.
        aside = replace(aside, y=torch.full_like(aside.y, -1)).excerpt(_HELD_OUT_ROWS)
        self.held_out = HeldOut(aside.continuous(), self.spec) if len(aside.y) else None
        self.batches = Batches(data.x, data.y, self.spec, self.seed, data.levels)
        self.step = 0
        self.curve = Curve()
        self._bad_in_a_row = 0
        self.foretold = Foretold(data, self.spec, guess)
        self.together = Together(self.module, fabric, self.spec, self.foretold, self._of_a_gaussian)
        self.rounds = 0 if seconds is not None else self.spec.rounds  # of a limited run: known when its pace is
        self.phase = phase_of(self.spec, 0.0, self.rounds)
        self.phase_began = 0  # at which step
        self.alone: HAlone | None = None
        self.taken: list[bool] = []  # of each h that was alone, whether it was better than the one before
        self._before: dict[str, Tensor] | None = None  # the h before the one that a resumed run goes on with

    @property
    def progress(self) -> float:
        """How much of the schedule is done, from 0 to 1."""
        return self.pace.progress(self.step)

    @property
    def history(self) -> list[Record]:
        """The training curve."""
        return self.curve.points

    @property
    def _steps_of_phase(self) -> int:
        return self.step - self.phase_began

    def run(self, after_step: Callable[["Trial"], None] = lambda trial: None) -> None:
        """Train to the end of the schedule; ``after_step`` is called after each step and may raise to stop."""
        with torch.random.fork_rng():
            if self.step == 0:
                self._look_at_held_out()  # a start may be better than all that follows
            while self.progress < 1:
                self.take_step()
                after_step(self)
            self._end_phase()
        if self.held_out is not None:
            self.held_out.restore(self.average)
        if self._bad_in_a_row == self.step:
            raise nothing_finite_error(self.spec, self.step)

    @fast_products()
    def take_step(self) -> None:
        """Draw a batch, take one step of the optimiser and record it; a batch without finite values is passed over."""
        self._seed_layers()
        progress = self.progress
        self._plan_rounds()
        self._enter(phase_of(self.spec, progress, self.rounds))
        rate = learning_rate(self.spec, self._steps_of_phase, self.phase)
        set_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        told = self._gradients(progress) if self.alone is None else self._gradients_of_h(progress, self.alone)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.spec.clip)
        self.pace.take_time()
        loss_value, norm_value = self._agree(told), norm.item()
        if math.isfinite(loss_value) and math.isfinite(norm_value):
            torch._foreach_copy_(self._good, self.average.average)
            self.optimizer.step()
            self.average.update(self._steps_of_phase)
            self._bad_in_a_row = 0
            self.curve.add_step(loss_value, norm_value)
        else:
            self._skip_bad_step(loss_value, norm_value)
        self.step += 1
        self._look_at_held_out()
        self._record(rate, progress)

    def _look_at_held_out(self) -> None:
        if self.held_out is None or not self.held_out.is_due(self.step, self.progress):
            return
        self.model.eval()
        with self.average.applied(), torch.random.fork_rng():
            torch.manual_seed(0)
            nll = self.held_out.nll(self.model, self.fabric.device)
        self.model.train()
        # All processes have the same weights; by one of them they also decide alike.
        if self.held_out.take(self.step, self.fabric.broadcast(nll), self.average):
            self.pace.turn(self.step, self.spec.decay_start)

    def _seed_layers(self) -> None:
        """Let what a layer draws itself (Hutchinson's probes) depend on the step, so that a resumed run repeats it."""
        seed = self.seed * 1_000_003 + self.step + self.own_part.index * 1_000_000_007
        if self.fabric.device.type == "cpu":
            # torch.manual_seed takes 0.2 ms more, for the GPUs that may be there.
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def _gradients(self, progress: float) -> list[Told]:
        """Add up the gradients of this process's part of a batch, piece by piece, and return what each one tells."""
        batch, told = self.together.batch(self.batches, self.step, progress), []
        pieces = self.own_part.split(len(batch.y), self.spec.part_size)
        for piece in pieces:
            # Processes wait for each other at the last one alone.
            waits = piece is pieces[-1] or self.own_part.count == 1
            with nullcontext() if waits else self.fabric.no_backward_sync(self.module):
                told.append(self._backward(*self.together.loss(batch, progress, piece)))
        return told

    def _gradients_of_h(self, progress: float, alone: HAlone) -> list[Told]:
        """Make the gradients of h alone, and return what this process's part tells: of no labelled row."""
        loss = alone.loss(self.step, self.phase, self._steps_of_phase, progress, self.own_part)
        told = self._backward(loss, torch.empty(0))
        if self.own_part.count > 1:
            for parameter in self.model.conditional.parameters():
                if parameter.grad is not None:
                    parameter.grad = cast(Tensor, self.fabric.all_reduce(parameter.grad, reduce_op="mean"))
        return [told]

    def _backward(self, loss: Tensor, wrong: Tensor) -> Told:
        # The weights add up to 1 over the whole batch, but gradients are averaged over the processes.
        self.fabric.backward(loss * self.own_part.count if self.own_part.count > 1 else loss)
        return loss.detach(), wrong

    def _plan_rounds(self) -> None:
        """Let a run whose time is limited have as many rounds as there is time for, once its pace is known."""
        if self.pace.seconds is not None and self.step == _STEPS_OF_PACE:
            self.rounds = rounds_in(self.spec, self.step / self.progress)

    def _enter(self, phase: Phase) -> None:
        """Go on in a phase; a new one begins with the averaged weights, and h alone is a new one."""
        is_new = (phase.kind, phase.round) != (self.phase.kind, self.phase.round)
        if is_new:
            self._end_phase()
            self.phase_began = self.step
        self.phase = phase
        if phase.kind == "h alone" and self.alone is None:
            self._leave_h_alone(is_new)

    @fast_products()
    def _end_phase(self) -> None:
        """Take the averaged weights; of an h that was alone and the one before it, the better one stays.

        What a new h says of all rows is known then, and stands in for their posterior. One that is not better changes
        nothing: all goes on as if there had been none.
        """
        self.average.take_over()
        if self.phase.kind == "together":
            return
        alone = self.alone or self._h_alone()
        self.alone = self._before = None
        # All processes have the same weights; by one of them they also decide alike.
        self.taken.append(self.fabric.broadcast(alone.is_better()))
        if not self.taken[-1]:
            alone.put_back()
        elif self.foretold.any_hidden and self.phase.round + 1 < self.rounds:
            self.foretold.said = alone.stored.posterior(self.model)
            self._weigh_all_rows_alike()
        self._average_anew()
        let_h_learn(self.optimizer, self.spec, alone=False)

    def _weigh_all_rows_alike(self) -> None:
        """Let rows with a label lead no longer: more than them tells the classes."""
        no_lead = {"labelled_share": None, "labelled_weight": None, "labelled_weight_start": None}
        spec = self.spec.model_copy(update=no_lead)
        self.batches = Batches(self.data.x, self.data.y, spec, self.seed, self.data.levels)

    def _leave_h_alone(self, is_new: bool) -> None:
        self.alone = self._h_alone()
        if is_new:
            self.alone.begin()
            self._average_anew()
            let_h_learn(self.optimizer, self.spec, alone=True)

    def _average_anew(self) -> None:
        """Begin with another h; if all goes wrong from here on, it is the one to return to."""
        self.average.begin_anew()
        torch._foreach_copy_(self._good, self.average.average)

    def _h_alone(self) -> HAlone:
        return HAlone(self.model, self.recipe, self.batches, self.foretold, self._of_a_gaussian, self._before)

    def _agree(self, told: list[Told]) -> float:
        """Return the loss of the whole batch, and go by the first process's clock: all must decide alike by them."""
        losses, wrong = zip(*told, strict=True)
        spent = self.pace.spent if self.own_part.index == 0 else 0.0
        own = (float(sum(losses)), spent, float(sum(map(torch.sum, wrong))), float(sum(map(len, wrong))))
        total, spent, mistakes, labelled = add_over_processes(self.fabric, *own)
        self.pace.agree(spent)
        self.curve.add_labelled(mistakes, labelled)
        return total

    def _skip_bad_step(self, loss: float, norm: float) -> None:
        self._bad_in_a_row += 1
        if self._bad_in_a_row >= _PATIENCE:
            torch._foreach_copy_(self.average.average, self._good)
            raise diverged_error(self.spec, self.step, _PATIENCE, loss, norm)

    def _record(self, rate: float, before: float) -> None:
        every = max(self.spec.steps // _RECORDS, 1)
        # Where time ends the run, its steps may be too few for a curve that counts them.
        due_by_time = self.pace.seconds is not None and int(self.progress * _RECORDS) > int(before * _RECORDS)
        if self.step % every and not due_by_time and self.progress < 1:
            return
        if not self.curve.labelled_rows:
            self._look_at_labelled()
        held_out = self.held_out.last if self.held_out else None
        self.curve.end_point(self.restart, self.step, rate, self.batches.labelled_weight(before), held_out)

    @torch.no_grad()
    def _look_at_labelled(self) -> None:
        """Ask of some labelled rows, where no step of late told which of them are told wrongly."""
        rows = self.batches.pools["labelled"][:_ROWS_TO_LOOK_AT]
        if len(rows):
            x = self.fabric.to_device(self.batches.values(self.data.x[rows], seeded(self.seed, self.step, 8)))
            wrong = wrongly_told(self.model.log_joint(x), self.fabric.to_device(self.data.y[rows]))
            self.curve.add_labelled(float(wrong.sum()), len(rows))

    def objective(self) -> float:
        """Return equation 1, a training row's mean, with the averaged weights."""
        self.model.eval()
        with self.average.applied():
            objective = mean_objective(self.model, self.data, self.own_part, self.fabric)
        self.model.train()
        return objective

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return all that a resumed run needs, as tensors and as plain values."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"average.{i}": value for i, value in enumerate(self.average.average)}
        tensors |= state_by_name(self.optimizer, self.model)
        if self.foretold.said is not None:
            tensors["said"] = self.foretold.said
        before = self._before if self.alone is None else self.alone.before.conditional.state_dict()
        tensors |= {f"before.{name}": value for name, value in (before or {}).items()}
        held_out = {} if self.held_out is None else self.held_out.values()
        if self.held_out is not None:
            tensors |= {f"held_out.{i}": value for i, value in enumerate(self.held_out.weights)}
        values = {
            "restart": self.restart,
            "step": self.step,
            **self.curve.state(),
            "bad_in_a_row": self._bad_in_a_row,
            "seconds": self.pace.seconds,
            "spent": self.pace.spent,
            "prelude": self.pace.prelude,
            "turned": self.pace.turned,
            "rounds": self.rounds,
            "taken": self.taken,
            "phase": self.phase,
            "phase_began": self.phase_began,
            "held_out": held_out,
        }
        return tensors, values

    def load_state(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Go on from what ``state`` returned."""
        self.model.load_state_dict(tensors_under("model.", tensors))
        for i, average in enumerate(self.average.average):
            average.copy_(tensors[f"average.{i}"])
            self._good[i].copy_(average)
        self.foretold.said = tensors.get("said")
        self._before = tensors_under("before.", tensors) or None
        self.rounds, self.taken = values["rounds"], values["taken"]
        self.phase, self.phase_began = Phase(*values["phase"]), values["phase_began"]
        let_h_learn(self.optimizer, self.spec, alone=self.phase.kind == "h alone")
        if self.foretold.said is not None:
            self._weigh_all_rows_alike()
        load_state_by_name(self.optimizer, self.model, tensors)
        self.step = values["step"]
        self.curve.go_on(values)
        self._bad_in_a_row = values["bad_in_a_row"]
        self.pace.go_on(values["seconds"], values["spent"], values["prelude"])
        if turned := values.get("turned"):
            self.pace.turned = Turn(*turned)
        if self.held_out is not None:
            seen = values["held_out"]
            self.held_out.go_on(seen, [tensors[f"held_out.{i}"] for i in range(seen["kept"])])
