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
