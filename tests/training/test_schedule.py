"""The schedule follows the steps or, where time is limited, the clock."""

import math
from itertools import pairwise
from pathlib import Path

import pytest

from scnf.recipes import TrainingSpec
from scnf.recipes.schema import ConsistencySpec
from scnf.tensorfile import read_tensors
from scnf.training import Fitted, fit, schedule
from scnf.training import fit as fit_function
from scnf.training.schedule import Pace, Phase, clutter_level, consistency_weight, learning_rate, phase_of, rounds_in
from tests.helpers import blobs, same_weights, small_recipe

DATA = blobs()


class Clock:
    """A clock that stands still but for what a test adds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    monkeypatch.setitem(fit_function.__globals__, "time", clock)
    return clock


def limited_fit(clock: Clock, seconds_a_step: float, checkpoint: Path | None = None, stop_after: int = -1, **training):
    """Fit for a minute at the most, with steps that take their time."""
    recipe = small_recipe(max_minutes=1, **training)
    seen = []

    def on_step(restart: int, step: int, loss: float, done: float) -> None:
        seen.append(done)
        if len(seen) == stop_after:
            raise KeyboardInterrupt

    original = schedule.Pace.take_time

    def take_time(pace: Pace) -> None:
        clock.now += seconds_a_step
        original(pace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule.Pace, "take_time", take_time)
        fitted = fit(recipe, DATA, checkpoint=checkpoint, resume=True, on_step=on_step)
    return fitted, seen


def rates(fitted: Fitted) -> list[float]:
    return [record.learning_rate for record in fitted.history]


def test_learning_rate_schedule():
    spec = TrainingSpec(learning_rate=0.01, warmup_steps=10, steps=1000)
    found = [learning_rate(spec, step, phase_of(spec, step / 1000, 1)) for step in range(1000)]
    assert found[0] == pytest.approx(0.001)
    assert max(found) == pytest.approx(0.01, rel=1e-3)
    assert found[500] == pytest.approx(0.005)
    assert 0 < found[-1] < 1e-6
    assert all(a >= b for a, b in pairwise(found[10:]))
    spec = TrainingSpec(learning_rate=0.01, warmup_steps=0)
    assert learning_rate(spec, 0, phase_of(spec, 0.0, 1)) == pytest.approx(0.01)


def test_the_rate_waits_for_its_decay():
    spec = TrainingSpec(learning_rate=0.01, warmup_steps=0, decay_start=0.6)
    found = [learning_rate(spec, 9, phase_of(spec, progress, 1)) for progress in (0, 0.6, 0.8, 1)]
    assert found == pytest.approx([0.01, 0.01, 0.005, 0])


def test_the_rate_may_fall_in_a_straight_line():
    spec = TrainingSpec(learning_rate=0.01, warmup_steps=0, decay="linear")
    found = [learning_rate(spec, 9, phase_of(spec, progress, 1)) for progress in (0, 0.25, 0.5, 0.9, 1)]
    assert found == pytest.approx([0.01, 0.0075, 0.005, 0.001, 0])


@pytest.mark.parametrize(("step", "seconds", "progress"), [(0, 0, 0), (50, 3, 0.5), (20, 7, 0.7), (1, 15, 1)])
def test_progress_goes_by_whichever_ends_first(clock, step, seconds, progress):
    pace = Pace(steps=100, seconds=10)
    clock.now += seconds
    pace.take_time()
    assert pace.progress(step) == pytest.approx(progress)


def test_what_the_first_step_waits_for_is_no_part_of_the_schedule(clock):
    pace = Pace(steps=100, seconds=10)
    for seconds, progress in ((6, 0.0), (2, 0.5), (2, 1.0)):
        clock.now += seconds
        pace.take_time()
        pace.agree(pace.spent)
        assert pace.progress(1) == pytest.approx(max(progress, 0.01))


@pytest.mark.parametrize("seconds", [0.0, -3.0])
def test_without_time_left_one_step_is_the_whole_run(clock, seconds):
    pace = Pace(steps=100, seconds=seconds)
    assert pace.progress(0) == 0
    clock.now += 2
    pace.take_time()
    assert pace.progress(1) == 1


def test_a_limit_that_is_used_up_before_the_first_step_ends_the_run():
    fitted = fit(small_recipe(max_minutes=1e-9, steps=50), DATA)
    assert fitted.steps == [1]
    assert len(fitted.history) == 1


def test_without_a_limit_the_clock_does_not_matter(clock):
    pace = Pace(steps=100)
    clock.now += 1e9
    pace.take_time()
    assert pace.progress(50) == 0.5


def test_the_whole_schedule_fits_into_the_time(clock):
    fitted, seen = limited_fit(clock, 6.0, steps=10_000, learning_rate=0.01, warmup_steps=0, labelled_weight_start=0.9)
    assert fitted.steps == [10]
    assert fitted.seconds == 60
    # The schedule begins when the first step is done, which may have had to wait for much else.
    assert seen == pytest.approx([1e-4, *(step / 9 for step in range(1, 10))])
    spec = TrainingSpec(learning_rate=0.01, warmup_steps=0)
    # The first point of the curve comes with the second step.
    expected = [learning_rate(spec, step, phase_of(spec, done, 1)) for step, done in enumerate(seen[:-1], start=1)]
    assert rates(fitted) == pytest.approx(expected)
    weights = [record.labelled_weight for record in fitted.history]
    assert weights[0] == pytest.approx(0.9, rel=1e-3)
    assert weights[5:] == pytest.approx([10 / 60] * 4)


def test_time_to_spare_changes_nothing(clock):
    limited, _ = limited_fit(clock, 0.1)
    free = fit(small_recipe(), DATA)
    assert same_weights(limited.model, free.model)
    assert limited.history == free.history


def test_the_curve_has_points_though_the_steps_are_few(clock):
    fitted, _ = limited_fit(clock, 0.125, steps=10**6)
    assert fitted.steps == [480]
    assert len(fitted.history) == 200
    assert fitted.history[-1].step == 480


def test_restarts_share_the_time_that_is_left(clock):
    fitted, _ = limited_fit(clock, 5.0, n_init=3, steps=3)
    assert fitted.steps == [3, 3, 3]
    fitted, _ = limited_fit(clock, 5.0, n_init=3, steps=1000)
    assert fitted.steps == [4, 4, 4]


def test_a_restart_that_would_have_no_time_is_not_begun(clock):
    fitted, _ = limited_fit(clock, 50.0, n_init=3, steps=1000)
    assert fitted.steps == [1, 1]
    assert len(fitted.objectives) == 2


def test_time_between_sessions_does_not_count(clock, tmp_path):
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(KeyboardInterrupt):
        limited_fit(clock, 6.0, checkpoint, stop_after=4, steps=1000)
    trial = read_tensors(checkpoint)[1]["trial"]
    assert (trial["step"], trial["seconds"], trial["spent"]) == (4, 60, pytest.approx(0.4))
    clock.now += 1e6
    resumed, seen = limited_fit(clock, 6.0, checkpoint, steps=1000)
    whole, _ = limited_fit(clock, 6.0, steps=1000)
    assert seen == pytest.approx([step / 9 for step in range(4, 10)])
    assert resumed.seconds == whole.seconds == 60
    # Where the clock agrees, so does the run.
    assert resumed.steps == whole.steps == [10]
    assert rates(resumed) == pytest.approx(rates(whole))


@pytest.mark.parametrize(
    ("progress", "end", "expected"),
    [(0.2, None, 0.0), (0.25, None, 4.0), (0.3, None, 8.0), (1.0, None, 8.0), (0.6, 0.5, 2.0), (1.0, 0.5, 0.5)],
)
def test_consistency_grows_and_may_then_fall(progress, end, expected):
    spec = ConsistencySpec(weight=8.0, weight_end=end, start=0.2)
    assert consistency_weight(spec, progress) == pytest.approx(expected)


def test_clutter_falls_while_labels_lead_and_is_gone_then():
    spec = TrainingSpec(clutter=1.0, labelled_decay=0.4)
    levels = [clutter_level(spec, progress) for progress in (0.0, 0.2, 0.4, 1.0)]
    assert levels == pytest.approx([1.0, -4.0, -math.inf, -math.inf])
    assert clutter_level(TrainingSpec(), 0.0) == -math.inf


@pytest.mark.parametrize(
    ("h_alone", "progress", "expected"),
    [
        (0.0, 0.4, ("together", 0.4)),
        (0.0, 1.0, ("together", 1.0)),
        (0.25, 0.375, ("together", 0.5)),
        (0.25, 0.75, ("h alone", 0.0)),
        (0.25, 1.0, ("h alone", 1.0)),
    ],
)
def test_f_and_h_learn_together_and_then_h_alone(h_alone, progress, expected):
    assert phase_of(TrainingSpec(h_alone=h_alone), progress, 1) == Phase(*expected)


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (0.0, ("together", 0.0, 0)),
        (0.15, ("together", 0.5, 0)),
        (0.4, ("h alone", 0.5, 0)),
        (0.5, ("together", 0.0, 1)),
        (0.9, ("h alone", 0.5, 1)),
        (1.0, ("h alone", 1.0, 1)),
    ],
)
def test_rounds_are_as_long_as_each_other(progress, expected):
    phase = phase_of(TrainingSpec(h_alone=0.4, rounds=2), progress, 2)
    assert (phase.kind, phase.round) == (expected[0], expected[2])
    assert phase.done == pytest.approx(expected[1])


@pytest.mark.parametrize("progress", [0.0, 0.4, 1.0])
def test_in_no_rounds_at_all_f_and_h_are_together_to_the_end(progress):
    assert phase_of(TrainingSpec(h_alone=0.4, rounds=2), progress, 0) == Phase("together", progress, 0)


@pytest.mark.parametrize(("steps", "rounds"), [(2499, 0), (2500, 1), (4999.9, 1), (5000, 2), (7500, 3), (1e6, 3)])
def test_a_run_has_no_more_rounds_than_there_is_time_for(steps, rounds):
    assert rounds_in(TrainingSpec(h_alone=0.4, rounds=3), steps) == rounds


@pytest.mark.parametrize("keys", [{"rounds": 2}, {"rounds": 2, "h_alone": 0.5, "guess": 0.1}, {"rounds": 0}])
def test_rounds_without_an_h_to_go_by_are_refused(keys):
    with pytest.raises(ValueError, match="rounds"):
        TrainingSpec(**keys)


def test_rows_that_are_kept_aside_judge_one_h_alone():
    with pytest.raises(ValueError, match="holdout keeps the best weights of one h"):
        TrainingSpec(holdout=0.1, h_alone=0.5)


def test_where_h_learns_alone_the_rate_falls_twice():
    spec = TrainingSpec(learning_rate=1.0, h_rate=2.0, h_alone=0.25, warmup_steps=0, decay="linear")
    of_both = [learning_rate(spec, 9, phase_of(spec, progress, 1)) for progress in (0.0, 0.375, 0.749999)]
    of_h = [spec.h_rate * learning_rate(spec, 9, phase_of(spec, progress, 1)) for progress in (0.75, 0.875, 1.0)]
    assert of_both == pytest.approx([1.0, 0.5, 0.0], abs=1e-5)
    assert of_h == pytest.approx([1.0, 0.5, 0.0])
