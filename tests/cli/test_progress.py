"""The live line of a fit, on a terminal and elsewhere."""

import io

import pytest
from rich.console import Console

from scnf.cli import progress
from scnf.cli.progress import FitProgress
from scnf.training.record import Record


class Screen:
    """A stderr of which it is known what it shows, and a clock that goes as it is told."""

    def __init__(self, is_terminal: bool):
        self.file, self.now, self.is_terminal = io.StringIO(), 0.0, is_terminal

    def console(self, **options: bool) -> Console:
        assert options["stderr"]
        return Console(
            file=self.file,
            quiet=options["quiet"],
            force_terminal=self.is_terminal,
            color_system=None,
            width=120,
            get_time=lambda: self.now,
        )

    def shown(self) -> str:
        """Return what was written since the last time."""
        text = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        return text


@pytest.fixture
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen(request.param == "terminal")
    monkeypatch.setattr(progress, "Console", screen.console)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: screen.now)
    return screen


def record(step: int, held_out: float | None = None, error: float | None = None) -> Record:
    return Record(0, step, 1.5, 1.0, 1e-3, 0.5, held_out, error)


def take_steps(shown: FitProgress, screen: Screen, steps: int, seconds: float) -> None:
    for step in range(1, steps + 1):
        screen.now += seconds
        shown(0, step, 1.5, step / shown.steps)


@pytest.mark.parametrize("screen", ["terminal"], indirect=True)
def test_a_terminal_shows_likelihood_error_and_time_left(screen: Screen):
    with FitProgress(steps=10, restarts=1, likelihood=lambda nll: f"{nll:.2f} bits") as shown:
        shown.record(record(1, held_out=1.234, error=25.0))
        take_steps(shown, screen, steps=3, seconds=9.0)
        shown.bar.refresh()
        line = screen.shown().splitlines()[-1]
        assert "step 3/10" in line
        assert "held-out 1.23 bits, train labels 25 % wrong" in line
        assert "left 0:01:03" in line  # seven steps of nine seconds
        shown.stage("Calibrating")
        shown.bar.refresh()
        assert "Calibrating" in screen.shown()


@pytest.mark.parametrize("screen", ["terminal"], indirect=True)
def test_without_rows_aside_a_terminal_shows_the_loss_and_the_start(screen: Screen):
    with FitProgress(steps=4, restarts=2) as shown:
        shown(1, 2, 1.5, 0.75)
        shown.bar.refresh()
        line = screen.shown().splitlines()[-1]
        assert "start 2/2  step 2/4" in line
        assert "loss 1.500" in line
        assert "held-out" not in line


@pytest.mark.parametrize("screen", ["file"], indirect=True)
def test_elsewhere_a_few_plain_lines_are_printed(screen: Screen):
    with FitProgress(steps=40, restarts=1) as shown:
        shown.record(record(1, held_out=1.234, error=25.0))
        take_steps(shown, screen, steps=40, seconds=1.0)
        shown.stage("Calibrating")
    lines = screen.shown().splitlines()
    assert lines[0] == "step 4/40  held-out 1.234 nats, train labels 25 % wrong, about 0:00:36 left"
    assert lines[9] == "step 40/40  held-out 1.234 nats, train labels 25 % wrong"
    assert len(lines) == 10 + 1


@pytest.mark.parametrize("screen", ["terminal"], indirect=True)
def test_a_quiet_fit_shows_nothing(screen: Screen):
    with FitProgress(steps=10, restarts=1, quiet=True) as shown:
        take_steps(shown, screen, steps=10, seconds=1.0)
        shown.stage("Calibrating")
    assert screen.shown() == ""


@pytest.mark.parametrize("screen", ["terminal", "file"], indirect=True)
def test_what_the_first_step_waits_for_is_told(screen: Screen):
    with FitProgress(steps=10, restarts=1, before="Spreading labels") as shown:
        shown.bar.refresh()
        assert "Spreading labels" in screen.shown()
        screen.now += 600.0
        take_steps(shown, screen, steps=3, seconds=9.0)
        shown.bar.refresh()
        lines = screen.shown().splitlines()
        assert "step 3/10" in lines[-1]
        assert "0:01:03" in lines[-1]  # seven steps of nine seconds: the wait does not count
        assert "Spreading" not in lines[-1]
