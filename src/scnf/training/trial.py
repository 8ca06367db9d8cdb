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
from scnf.model import Latents, SemiConditionalFlow
from scnf.nets import set_products
from scnf.processor import fast_products, keep_memory
from scnf.recipes.build import build_model
from scnf.recipes.schema import ConsistencySpec, Recipe
from scnf.tensorfile import tensors_under
from scnf.training.batch_part import BatchPart
from scnf.training.check import check_training, diverged_error, nothing_finite_error
from scnf.training.compiling import compiled
from scnf.training.data import TrainingData, gaussian_log_density
from scnf.training.devices import add_over_processes
from scnf.training.ema import WeightAverage
from scnf.training.foretold import Foretold, log_of
from scnf.training.guess import start_rows
from scnf.training.h_alone import fresh_h, is_led, nll_of_h
from scnf.training.held_out import HeldOut
from scnf.training.losses import drawn_classes
from scnf.training.mean_objective import mean_objective
from scnf.training.objective import consistency_objective, training_objective, wrongly_told
from scnf.training.optimizer import let_h_learn, load_state_by_name, make_optimizer, set_rate, state_by_name
from scnf.training.record import Curve, Record
from scnf.training.schedule import Pace, Phase, Turn, clutter_level, consistency_weight, learning_rate, phase_of
from scnf.training.stored_latents import StoredLatents

# So many batches in a row without a finite loss and gradient end the run.
_PATIENCE = 20
_RECORDS = 200
# Hidden rows that set the data-dependent start; labelled ones all do.
_FIRST_ROWS = 4096
_HELD_OUT_ROWS = 2048
# A pass of h for the labelled rows' own classes alone takes its time; it must spare so many pairs of a row and a class.
_PAIRS_WORTH_A_PASS = 512
# Labelled rows that are looked at for a point of the curve, where no step tells how many of them are told wrongly.
_ROWS_TO_LOOK_AT = 100
# A part's loss, and which of its labelled rows are told wrongly.
_Told = tuple[Tensor, Tensor]


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
        self.phase = phase_of(self.spec, 0.0)
        self.phase_began = 0  # at which step
        self._stored: StoredLatents | None = None

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
        if self.held_out is not None:
            self.held_out.restore(self.average)
        if self._bad_in_a_row == self.step:
            raise nothing_finite_error(self.spec, self.step)

    @fast_products()
    def take_step(self) -> None:
        """Draw a batch, take one step of the optimiser and record it; a batch without finite values is passed over."""
        self._seed_layers()
        progress = self.progress
        self._enter(phase_of(self.spec, progress))
        rate = learning_rate(self.spec, self._steps_of_phase, self.phase)
        set_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        told = self._gradients(progress) if self._stored is None else self._gradients_of_h(progress, self._stored)
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

    def _gradients(self, progress: float) -> list[_Told]:
        """Add up the gradients of this process's part of a batch, piece by piece, and return what each one tells."""
        batch, copies, told = self.batches(self.step, progress), self._copies(progress), []
        pieces = self.own_part.split(len(batch[1]), self.spec.part_size)
        for piece in pieces:
            # Processes wait for each other at the last one alone.
            waits = piece is pieces[-1] or self.own_part.count == 1
            with nullcontext() if waits else self.fabric.no_backward_sync(self.module):
                told.append(self._backward(*self._loss(progress, batch, copies, piece)))
        return told

    def _gradients_of_h(self, progress: float, stored: StoredLatents) -> list[_Told]:
        """Make the gradients of h alone, and return what this process's part tells."""
        told = self._backward(*self._loss_of_h(progress, stored))
        if self.own_part.count > 1:
            for parameter in self.model.conditional.parameters():
                if parameter.grad is not None:
                    parameter.grad = cast(Tensor, self.fabric.all_reduce(parameter.grad, reduce_op="mean"))
        return [told]

    def _backward(self, loss: Tensor, wrong: Tensor) -> _Told:
        # The weights add up to 1 over the whole batch, but gradients are averaged over the processes.
        self.fabric.backward(loss * self.own_part.count if self.own_part.count > 1 else loss)
        return loss.detach(), wrong

    def _copies(self, progress: float) -> tuple[Tensor, Tensor] | None:
        """Return altered copies of rows of the batch, and the places of those, if they are to be taught by now."""
        consistency = self.spec.consistency
        is_due = consistency is not None and progress > consistency.start
        return self.batches.copies(self.step, cast(ConsistencySpec, consistency)) if is_due else None

    def _loss(
        self, progress: float, batch: tuple[Tensor, ...], copies: tuple[Tensor, Tensor] | None, part: BatchPart
    ) -> _Told:
        """Return a part of the loss of a batch, and which of its labelled rows are told wrongly."""
        x, y, weights = self.fabric.to_device(tuple(map(part.of, batch)))
        rows, labelled = len(batch[1]), self.batches.counts["labelled"]
        only_guess = progress < self.spec.guess or self.foretold.said is not None
        guess = self._log_of(self.foretold.by_all(), self.batches.rows(self.step), part)
        clutter = self._of_a_gaussian + clutter_level(self.spec, progress)
        if copies is None:
            if guess is not None and only_guess and self._is_worth_a_pass(len(y)):
                # A class drawn by its share gives the gradient of the mean over all of them, at h's price for one.
                drawn = self._drawn(guess, y, rows, part)
                log_joint = self.module(x, drawn)
                return training_objective(log_joint, drawn, weights, self.spec), torch.empty(0)
            known = self._known(y, labelled // part.count)
            log_joint = self.module(x, known)
            loss = training_objective(log_joint, y, weights, self.spec, labelled, guess, only_guess, clutter)
            return loss, wrongly_told(log_joint, y) if known is None else torch.empty(0)
        consistency = cast(ConsistencySpec, self.spec.consistency)
        own, places = part.places(copies[1])
        own_copies, places = self.fabric.to_device((copies[0][own], places))
        # One pass for rows and copies: larger products, and the only one that data-parallel modules expect.
        log_joint, of_copies = self.module(torch.cat([x, own_copies])).split([len(x), len(own_copies)])
        loss = training_objective(log_joint, y, weights, self.spec, labelled, guess, only_guess, clutter)
        counts = rows, len(own)
        taught = consistency_objective(log_joint, of_copies, y, places, guess, only_guess, consistency, counts)
        return loss + consistency_weight(consistency, progress) * taught, wrongly_told(log_joint, y)

    def _known(self, y: Tensor, labelled: int) -> Tensor | None:
        """Return the labels of rows of whose classes h need only be asked one, if there are enough to gain by it.

        All parts have as many, or a compiled model would be translated anew; one that has more is asked for all.
        """
        return y[:labelled] if self._is_worth_a_pass(labelled) else None

    def _is_worth_a_pass(self, rows: int) -> bool:
        return rows * (self.data.classes - 1) >= _PAIRS_WORTH_A_PASS and not self.spec.clf_weight

    def _enter(self, phase: Phase) -> None:
        """Go on in a phase; a new one begins with the averaged weights, and h alone is a new one.

        An h that had to follow f ends in a bad place, and does not leave it.
        """
        is_new, self.phase = (phase.kind, phase.round) != (self.phase.kind, self.phase.round), phase
        if is_new:
            self.phase_began = self.step
            self.average.take_over()
        if phase.kind == "together" and is_new:
            self._let_f_go_on()
        elif phase.kind == "h alone" and (is_new or self._stored is None):
            self._let_h_be_alone(is_new)

    def _let_f_go_on(self) -> None:
        """What the h that was alone says of all rows is known now, and stands in for their posterior."""
        if self.foretold.any_hidden:
            self.foretold.said = (self._stored or self._latents()).posterior()
        self._stored = None
        self._weigh_all_rows_alike()
        let_h_learn(self.optimizer, self.spec, alone=False)

    def _weigh_all_rows_alike(self) -> None:
        """Let rows with a label lead no longer: more than them tells the classes."""
        no_lead = {"labelled_share": None, "labelled_weight": None, "labelled_weight_start": None}
        spec = self.spec.model_copy(update=no_lead)
        self.batches = Batches(self.data.x, self.data.y, spec, self.seed, self.data.levels)

    def _let_h_be_alone(self, is_new: bool) -> None:
        self._stored = self._latents()
        if is_new:
            if self.foretold.any_hidden and self.foretold.by_all() is None:
                self.foretold.said = self._stored.posterior()  # by the h that followed f so far
            guess = self.foretold.by_graph()
            new = fresh_h(self.recipe, self.data, *self._stored.first(_FIRST_ROWS), guess, self.seed)
            self.model.conditional.load_state_dict(new.state_dict())
            self.average.begin_anew()
            let_h_learn(self.optimizer, self.spec, alone=True)

    def _latents(self) -> StoredLatents:
        return StoredLatents(self.model, self.batches, self.fabric.device)

    def _loss_of_h(self, progress: float, stored: StoredLatents) -> _Told:
        """Return this process's part of equation 1 for stored latents, and that no labelled row is looked at.

        Classes are drawn from the posterior, which gives the gradient of the marginal likelihood (Fisher's identity).
        """
        rows, latents = stored(self._steps_of_phase)
        tensors = self.data.y[rows], stored.clear[rows], *latents
        y, clear, *parts = self.fabric.to_device(tuple(map(self.own_part.of, tensors)))
        drawn = self._drawn(self._log_shares(rows, clear, progress), y, len(rows), self.own_part)
        loss = nll_of_h(self.model, Latents(*parts), drawn, self._of_a_gaussian)
        return loss.sum() / len(rows), torch.empty(0)

    @torch.no_grad()
    def _log_shares(self, rows: Tensor, clear: Tensor, progress: float) -> Tensor:
        """Return how much this process's part of some rows is of each class up to a factor, ``[B, K]``, as logarithms.

        At first that is what the h before has said of them, or a graph guesses; then the posterior, with the graph's
        guess as p(y). It is that of z_f without noise, ``[B, d]``: a row's class does not depend on the noise that it
        learns with.
        """
        said = self._log_of(self.foretold.said, rows, self.own_part)
        if said is not None and is_led(self.phase, self._steps_of_phase):
            return said
        guess = self._log_of(self.foretold.by_graph(), rows, self.own_part)
        if guess is not None and progress < self.spec.guess:
            return guess
        log_joint = self.model.log_joint_of_z_f(clear)
        return log_joint if guess is None else log_joint + guess

    def _drawn(self, log_shares: Tensor, y: Tensor, rows: int, part: BatchPart) -> Tensor:
        """Return the labels of a part's rows, ``[B]``: the known one, or else a class drawn by its share.

        All of the batch's ``rows`` are drawn for, so that it does not matter which parts they are in.
        """
        uniform = torch.rand(rows, self.data.classes, generator=seeded(self.seed, self.step, 6))
        return drawn_classes(log_shares, y, self.fabric.to_device(part.of(uniform)))

    def _log_of(self, shares: Tensor | None, rows: Tensor, part: BatchPart) -> Tensor | None:
        return self.fabric.to_device(log_of(shares, part.of(rows)))

    def _agree(self, told: list[_Told]) -> float:
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
        self.phase, self.phase_began = Phase(*values["phase"]), values["phase_began"]
        let_h_learn(self.optimizer, self.spec, alone=self.phase.kind == "h alone")
        if self.phase.round:
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
