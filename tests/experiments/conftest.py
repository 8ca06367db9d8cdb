from pathlib import Path

import pytest

TINY = """
name = "tiny"
[model.f]
kind = "coupling"
steps = 1
hidden = [4]
[model.h]
kind = "{h}"
[training]
steps = {steps}
batch_size = 32
"""


@pytest.fixture
def tiny_recipe(tmp_path: Path):
    """Return a function that writes a recipe of a few parameters and returns its path."""

    def write(name: str, steps: int = 2, h: str = "gaussian") -> str:
        path = tmp_path / f"{name}.toml"
        path.write_text(TINY.format(steps=steps, h=h), encoding="utf-8")
        return str(path)

    return write


TINY_IMAGES = """
name = "tiny-images"
[model.f]
kind = "multiscale"
levels = [{ channel = 1, keep = 2 }, { channel = 1, keep = 2 }]
hidden = 4
[model.h]
kind = "coupling"
steps = 1
hidden = [4]
[training]
steps = 1_000_000
batch_size = 16
labelled_share = 0.25
"""


@pytest.fixture
def tiny_image_recipe(tmp_path: Path) -> str:
    """A stand-in for the recipe ``mnist``, to be limited in time."""
    path = tmp_path / "tiny-images.toml"
    path.write_text(TINY_IMAGES, encoding="utf-8")
    return str(path)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits run one after the other in this process: a worker would import everything anew."""

    def run_tasks(function, tasks, jobs, on_progress):
        for index, task in enumerate(tasks):
            yield index, function(task, lambda share: None)

    monkeypatch.setattr("scnf.experiments.running.run_tasks", run_tasks)
