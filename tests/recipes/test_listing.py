"""The paper's network against the listing in its Appendix E."""

import pytest

from scnf.bijections import TwoWayCoupling
from scnf.nets import ConvResNet, ResidualMLP
from scnf.recipes import load_recipe
from scnf.recipes.build import build_model
from scnf.recipes.listing import listing
from tests.helpers import small_recipe

CHECKERBOARD = "MaskedCouplingLayer(mask=checkerboard)"
CHANNEL = "CouplingLayer(mask=channel)"


def step(channels: int, coupling: str) -> list[str]:
    return [f"InvertibleConv2d({channels})", coupling, f"ActNorm({channels})"]


def conditional_step(features: int) -> list[str]:
    return [f"ActNorm({features})", f"InvertibleConv2d({features})", "ConditionalCouplingLayer(mask=channel)"]


APPENDIX_F = [
    "ToLogits()",
    *3 * step(1, CHECKERBOARD),
    "SpaceToDepth(2x2)",
    *2 * step(4, CHANNEL),
    "FactorOut([4, 14, 14] -> [2, 14, 14])",
    *3 * step(2, CHECKERBOARD),
    "SpaceToDepth(2x2)",
    *2 * step(8, CHANNEL),
    "FactorOut([8, 7, 7] -> [4, 7, 7])",
    *3 * step(4, CHECKERBOARD),
    *2 * step(4, CHANNEL),
]
APPENDIX_H = [*4 * conditional_step(196), "FactorOut([196, 1, 1] -> [98, 1, 1])", *4 * conditional_step(98)]


def build(name: str):
    return build_model(load_recipe(name).model, (1, 28, 28), classes=10)


def test_the_network_is_that_of_the_appendix():
    f, h = listing(build("paper-mnist"))
    assert [line.text for line in f] == APPENDIX_F
    assert [line.text for line in h] == APPENDIX_H


def test_the_shapes_are_those_of_the_appendix():
    f, h = listing(build("paper-mnist"))
    for name, lines in (("f", f), ("h", h)):  # pytest -s shows them
        print(f"\n{name} of paper-mnist, what leaves each layer")
        for line in lines:
            print(f"{line.text:<42}{'×'.join(map(str, line.shape)):>10}")
    shapes = [(1, 28, 28)] * 10 + [(4, 14, 14)] * 7 + [(2, 14, 14)] * 10 + [(8, 7, 7)] * 7 + [(4, 7, 7)] * 16
    assert [line.shape for line in f] == shapes
    assert [line.shape for line in h] == [(196,)] * 12 + [(98,)] * 13


def test_the_nets_are_those_of_the_appendix():
    model = build("paper-mnist")
    convolutional = [module for module in model.flow.modules() if isinstance(module, ConvResNet)]
    assert {(net.stem.out_channels, len(net.blocks)) for net in convolutional} == {(64, 4)}
    assert len(convolutional) == 9 + 2 * 6  # a checkerboard has one net, a channel coupling two
    residual = [module for module in model.conditional.modules() if isinstance(module, ResidualMLP)]
    assert {(net.stem.out_features, len(net.blocks)) for net in residual} == {(256, 4)}
    assert len(residual) == 2 * 8
    assert sum(isinstance(module, TwoWayCoupling) for module in model.modules()) == 6 + 8
    assert model.conditional.base.log_scale.shape == (196,)


@pytest.mark.parametrize(
    ("features", "factored"),
    [
        (49, ["[4, 14, 14] -> [2, 14, 14]", "[8, 7, 7] -> [4, 7, 7]", "[4, 7, 7] -> [1, 7, 7]"]),
        (98, ["[4, 14, 14] -> [2, 14, 14]", "[8, 7, 7] -> [4, 7, 7]", "[4, 7, 7] -> [2, 7, 7]"]),
        (392, ["[4, 14, 14] -> [2, 14, 14]"]),
        (784, []),
    ],
)
def test_table_3_cuts_at_the_factor_outs_alone(features, factored):
    model = build(f"paper-mnist-{features}")
    assert model.conditional.features == features
    lines = [line.text for line in listing(model).f]
    assert [line for line in lines if line.startswith("FactorOut")] == [f"FactorOut({change})" for change in factored]
    couplings = [line for line in lines if "Coupling" in line]
    assert couplings == [line for line in APPENDIX_F if "Coupling" in line]


def test_other_layers_are_listed_by_name():
    model = build_model(small_recipe(h={"kind": "gaussian"}).model, (3,), classes=2)
    f, h = listing(model)
    assert [line.text for line in f] == ["Standardize()", *2 * ["ActNorm(3)", "InvertibleConv2d(3)", CHANNEL]]
    assert h == [("GaussianPerClass(3)", (3,))]
