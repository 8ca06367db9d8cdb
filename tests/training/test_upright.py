import pytest
import torch
from torch import Tensor

from scnf.training.upright import set_upright


def stroke(lean: float, size: int = 28, width: int | None = None, at: tuple[float, float] = (0.0, 0.0)) -> Tensor:
    """Return a soft stroke of 13 rows that goes right by ``lean`` pixels a row, with its middle off the image's."""
    width = width or size
    down = torch.arange(size)[:, None] - (size - 1) / 2 - at[0]
    right = torch.arange(width) - (width - 1) / 2 - at[1]
    ink = (-((right - lean * down) ** 2) / 4).exp() * (down.abs() <= 6.5)
    return ink[None, None]


@pytest.mark.parametrize("lean", [-0.6, -0.2, 0.3, 0.8])
@pytest.mark.parametrize("at", [(0.0, 0.0), (3.0, -4.0)])
@pytest.mark.parametrize("width", [28, 36])
def test_a_stroke_that_leans_stands_upright_in_the_middle(lean, at, width):
    torch.testing.assert_close(set_upright(stroke(lean, 28, width, at)), stroke(0.0, 28, width), atol=0.08, rtol=0)


@pytest.mark.parametrize("lean", [0.0, 0.5])
def test_dark_ink_on_light_paper_is_set_upright_too(lean):
    light, dark = 40 + 200 * stroke(lean), 240 - 200 * stroke(lean)
    torch.testing.assert_close(set_upright(light), -set_upright(dark), atol=1e-3, rtol=0)


def test_channels_move_together_and_bytes_are_read():
    images = (255 * torch.cat([stroke(0.5), torch.zeros(1, 1, 28, 28), stroke(0.5)], 1)).to(torch.uint8)
    upright = set_upright(images)
    assert torch.equal(upright[:, 0], upright[:, 2])
    assert not upright[:, 1].any()


def test_an_image_without_ink_is_all_background():
    assert not set_upright(torch.full((2, 3, 16, 20), 7, dtype=torch.uint8)).any()
