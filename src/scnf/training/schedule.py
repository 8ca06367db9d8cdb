"""How far a training run is, and the learning rate that follows from it."""

import math
import time
from typing import Literal, NamedTuple

from scnf.recipes.schema import ConsistencySpec, TrainingSpec

# Where likelihood no longer grows, the rest of the schedule takes so many steps for each that was taken.
_STEPS_AFTER_TURN = 0.25
# The part of a run over which consistency grows to its full weight.
_CONSISTENCY_GROWS = 0.1
# By so many nats clutter falls while it is there: below all that a row could be missed for.
_CLUTTER_FALLS = 10.0
# A round that would be shorter, were all its steps of f and h together, leaves h too little time alone to tell more
# than the h before.
_STEPS_OF_A_ROUND = 2500


class Turn(NamedTuple):
    """The step at which a plateau was reached, and how far the run was then said to be."""

    step: int
    progress: float


class Pace:
    """How far one restart is, from 0 to 1: by its steps and, where its time is limited, by whichever ends first.

    The share of the time is taken after each step and held until the next, so a checkpoint knows it. The schedule
    begins when the first step is done: a graph and machine code, which that one waits for, are no part of it.

    Args:
        steps: the steps of the whole schedule.
        seconds: the time that this restart may take; None leaves it to the steps.
    """

    def __init__(self, steps: int, seconds: float | None = None):
        self.steps, self.seconds = steps, seconds
        self.spent = 0.0
        self.prelude: float | None = None  # of the time, until the first step was done
        self.turned: Turn | None = None
        self._started = time.perf_counter()

    def progress(self, step: int) -> float:
        """Return how far the restart is before a step."""
        before = self.prelude or 0.0
        of_the_time = (self.spent - before) / (1 - before) if before < 1 else 1.0
        progress = max(step / self.steps, of_the_time)
        if self.turned is not None:
            start, at = self.turned
            steps_left = max(1, round(_STEPS_AFTER_TURN * start))
            progress = max(progress, at + (1 - at) * (step - start) / steps_left)
        return min(1.0, progress)

    def turn(self, step: int, decay_start: float) -> None:
        """Leave out what is left of the constant rate: the decay begins now, and the run ends soon."""
        if self.turned is None:
            self.turned = Turn(step, max(self.progress(step), decay_start))

    def take_time(self) -> None:
        """Look at the clock; without a limit it does not matter."""
        if self.seconds is not None:
            # A limit that was used up before the first step leaves time for that one alone.
            self.spent = (time.perf_counter() - self._started) / self.seconds if self.seconds > 0 else 1.0

    def agree(self, spent: float) -> None:
        """Go by a share of the time on which all processes agree; that of the first step is the prelude."""
        self.spent = spent
        if self.prelude is None and self.seconds is not None:
            self.prelude = spent

    def go_on(self, seconds: float | None, spent: float, prelude: float | None) -> None:
        """Go on where a stopped session was; the time since then does not count."""
        self.seconds, self.spent, self.prelude = seconds, spent, prelude
        self._started = time.perf_counter() - spent * (seconds or 0.0)


class Phase(NamedTuple):
    """Which part of the schedule a run is in, how much of that is done, and how often all parts came before."""

    kind: Literal["together", "h alone"]
    done: float
    round: int = 0


def rounds_in(spec: TrainingSpec, steps: float) -> int:
    """Return how often f and h learn together and then h alone in a run of about so many steps.

    As often as the recipe says if there is time for that; not at all where h could learn little alone.
    """
    return min(spec.rounds, int(steps / _STEPS_OF_A_ROUND))


def phase_of(spec: TrainingSpec, progress: float, rounds: int) -> Phase:
    """Return the phase of a run of so many rounds of which so much, from 0 to 1, is done.

    In no rounds at all f and h are together to the end.
    """
    if not rounds or not spec.h_alone:
        return Phase("together", progress)
    number = min(int(progress * rounds), rounds - 1)
    of_the_round, alone = progress * rounds - number, 1 - spec.h_alone
    if of_the_round < alone:
        return Phase("together", of_the_round / alone, number)
    return Phase("h alone", (of_the_round - alone) / spec.h_alone, number)


def learning_rate(spec: TrainingSpec, step: int, phase: Phase) -> float:
    """Return the rate at a step of a phase: linear warm-up by steps, constant until ``decay_start``, then down to zero,
    as half a cosine or in a straight line.

    Every phase begins anew. Where h is alone, it has no multiple of the rate: it need not keep up with anything.
    """
    warmup = min(1.0, (step + 1) / max(spec.warmup_steps, 1))
    decayed = max(0.0, (phase.done - spec.decay_start) / (1 - spec.decay_start))
    left = 1 - decayed if spec.decay == "linear" else 0.5 * (1 + math.cos(math.pi * decayed))
    return spec.learning_rate * warmup * left / (spec.h_rate if phase.kind == "h alone" else 1)


def consistency_weight(spec: ConsistencySpec, progress: float) -> float:
    """Return the weight of consistency: it grows from 0 over a tenth of the run, and goes geometrically to its end."""
    done = (progress - spec.start) / (1 - spec.start) if spec.start < 1 else 1.0
    falls = 1.0 if spec.weight_end is None else (spec.weight_end / spec.weight) ** max(done, 0.0)
    return spec.weight * falls * min(1.0, max(progress - spec.start, 0.0) / _CONSISTENCY_GROWS)


def clutter_level(spec: TrainingSpec, progress: float) -> float:
    """Return the log-density of clutter above that of a Gaussian: it falls while labels lead, then is gone."""
    if spec.clutter is None or progress >= spec.labelled_decay:
        return -math.inf
    return spec.clutter - _CLUTTER_FALLS * progress / spec.labelled_decay
