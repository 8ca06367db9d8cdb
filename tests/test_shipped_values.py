"""The models that come with the package tell what they told when they were recorded: code moves on, files stay."""

import pytest
import torch

import scnf
from scnf import shipped

# log p(x, y=1) and log p(x, y=7) of the image below, in nats, by the code that the models were trained with.
TOLD = {
    "mnist-100": (4072.287, 4050.775),
    "mnist-100-consistency": (4032.540, 3818.811),
    "mnist-100-graph": (4075.672, 4057.758),
}


def upright_stroke() -> torch.Tensor:
    """An image that might be a 1."""
    image = torch.zeros(1, 1, 28, 28)
    image[..., 5:23, 13:15] = 250
    image[..., 5:23, [12, 15]] = 90
    return (image + 0.5) / 256


def test_all_shipped_models_are_asked():
    assert set(TOLD) == set(shipped.shipped_models())


@pytest.mark.parametrize("name", sorted(TOLD))
def test_a_shipped_model_tells_what_it_told(name):
    with torch.no_grad():
        log_joint = scnf.load(name).model.log_joint(upright_stroke())[0]
    assert int(log_joint.argmax()) == 1
    assert log_joint[[1, 7]].tolist() == pytest.approx(TOLD[name], abs=0.05)
