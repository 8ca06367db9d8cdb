import pytest
import torch

from scnf.bijections import (
    ActNorm,
    BackgroundLogit,
    CheckerboardMask,
    ContextAffine,
    Coupling,
    FactorOut,
    Flatten,
    InvertibleLinear,
    Logit,
    LULinear,
    SplineMap,
    Squeeze,
    Standardize,
    TwoWayCoupling,
)
from scnf.densities import ConditionalFlow, GaussianPerClass
from scnf.nets import Conv3x3, ConvResNet, GlowNet, ResidualMLP
from scnf.recipes import load_recipe, shipped_recipes
from scnf.recipes.build import build_model
from scnf.recipes.schema import ModelSpec

COUPLING = {"kind": "coupling", "steps": 3, "hidden": [8]}


def spec(f=COUPLING, h=COUPLING, **more) -> ModelSpec:
    return ModelSpec.model_validate({"f": f, "h": h, **more})


def multiscale(*keep, **more) -> dict:
    levels = [{"channel": 1, "keep": channels} for channels in keep or (2, 4)]
    return {"kind": "multiscale", "levels": levels, "hidden": 4, **more}


def count(model, kind: type) -> int:
    return sum(isinstance(module, kind) for module in model.modules())


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipe_builds(name):
    recipe = load_recipe(name)
    shape = (1, 8, 8) if recipe.model.f.kind == "multiscale" or recipe.model.z_f else (2,)
    model = build_model(recipe.model, shape, classes=3, labelled_counts=torch.tensor([5, 5, 5]))
    x = torch.rand(4, *shape)
    assert torch.isfinite(model.log_joint(x)).all()
    assert model.sample(2)[0].shape == (2, *shape)


@pytest.mark.parametrize(
    ("f", "h", "parts"),
    [
        ({**COUPLING, "map": "spline"}, {"kind": "gaussian"}, {SplineMap: 3, GaussianPerClass: 1, InvertibleLinear: 3}),
        ({**COUPLING, "linear": "lu"}, COUPLING, {LULinear: 3, InvertibleLinear: 3, ConditionalFlow: 1}),
    ],
)
def test_the_parts_are_those_asked_for(f, h, parts):
    model = build_model(spec(f, h), (2,), 2)
    assert {kind: count(model, kind) for kind in parts} == parts
    assert count(model, Standardize) == 1


def test_ffjord_takes_its_settings():
    f = {"kind": "ffjord", "hidden": 8, "blocks": 2, "time": 0.5, "solver": "dopri5", "rtol": 1e-3, "adjoint": True}
    first, second = build_model(spec(f), (2,), 2).flow.layers[1:]
    assert (first.time, first.solver, first.rtol, first.adjoint) == (0.5, "dopri5", 1e-3, True)
    assert first.dynamics is not second.dynamics


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_z_f_leaves_the_first_components_out(steps):
    model = build_model(spec({**COUPLING, "steps": steps}, z_f=2), (6,), 3)
    assert model.conditional.features == 2
    assert count(model, FactorOut) == 1
    assert model.encode(torch.randn(4, 6)).z_aux.shape == (4, 4)


def test_vectors_may_come_as_images():
    model = build_model(spec(), (1, 2, 2), 2)
    x = torch.randn(3, 1, 2, 2)
    assert model.conditional.features == 4
    assert model.sample(2)[0].shape == (2, 1, 2, 2)
    torch.testing.assert_close(model.decode(*model.encode(x)[:2]), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("keep", "features", "factored"),
    [([2, 4], 16, 2), ([4, 4], 16, 1), ([2, 8], 32, 1), ([4, 16], 64, 0), ([None, None], 64, 0)],
)
def test_multiscale_keeps_the_channels_asked_for(keep, features, factored):
    model = build_model(spec(multiscale(*keep)), (1, 8, 8), 2)
    assert model.conditional.features == features
    assert count(model, FactorOut) == factored
    assert count(model, Logit) == 1
    x = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(model.decode(*model.encode(x)[:2]), x, rtol=1e-4, atol=1e-4)


def test_levels_say_what_comes_in_which_order():
    levels = [
        {"checkerboard": 2, "channel": 1, "keep": 2, "hidden": 6, "blocks": 2},
        {"squeeze": False, "checkerboard": 1, "channel": 1},
    ]
    model = build_model(spec({"kind": "multiscale", "levels": levels, "hidden": 4}), (1, 4, 4), 2)
    outer = [type(layer) for layer in model.flow.layers]
    step = [ActNorm, InvertibleLinear, Coupling]
    assert outer == [Logit, *step, *step, Squeeze, *step, FactorOut]
    assert [type(layer) for layer in model.flow.layers[-1].inner.layers] == [*step, *step, Flatten]
    nets = [module for module in model.modules() if isinstance(module, ConvResNet)]
    assert [(net.stem.out_channels, len(net.blocks)) for net in nets] == [(6, 2), (6, 2), (6, 2), (4, 1), (4, 1)]
    masks = [module for module in model.modules() if isinstance(module, CheckerboardMask)]
    assert torch.equal(masks[0].keep, ~masks[1].keep)
    assert model.conditional.features == 8


def test_nets_may_be_those_of_glow():
    levels = [{"channel": 1, "hidden": 6, "keep": 2}, {"channel": 1}]
    model = build_model(spec({"kind": "multiscale", "levels": levels, "hidden": 4, "net": "glow"}), (1, 4, 4), 2)
    nets = [module for module in model.modules() if isinstance(module, GlowNet)]
    assert [net.middle.weight.shape for net in nets] == [(6, 6, 1, 1), (4, 4, 1, 1)]


@pytest.mark.parametrize("f", [multiscale(2), {**COUPLING, "steps": 1}], ids=["image", "vector"])
def test_order_and_halves_of_a_step(f):
    def kinds(**more) -> list[type]:
        model = build_model(spec({**f, **more}, {"kind": "gaussian"}), (1, 4, 4), 2)
        asked = (ActNorm, InvertibleLinear, Coupling, TwoWayCoupling)
        return [type(module) for module in model.flow.modules() if type(module) in asked]

    assert kinds() == [ActNorm, InvertibleLinear, Coupling]
    assert kinds(order="actnorm-last") == [InvertibleLinear, Coupling, ActNorm]
    assert kinds(halves="both") == [ActNorm, InvertibleLinear, TwoWayCoupling]


def test_steps_of_h_may_leave_half_out_on_the_way():
    h = {**COUPLING, "steps": [2, 1, 1], "hidden": [8], "blocks": 1, "class_affine": False}
    model = build_model(spec(h=h), (9,), 3)
    sizes = [module.bias.numel() for module in model.conditional.modules() if isinstance(module, ActNorm)]
    assert sizes == [9, 9, 4, 2]
    assert model.conditional.base.log_scale.shape == (9,)
    assert count(model.conditional, ResidualMLP) == 4
    assert count(model, ContextAffine) == 0
    z, y = torch.randn(4, 9), torch.tensor([0, 1, 2, 0])
    torch.testing.assert_close(model.conditional.decode(model.conditional.encode(z, y), y), z, rtol=1e-4, atol=1e-4)


def test_a_residual_net_has_one_width():
    with pytest.raises(ValueError, match="one width, hidden has 2"):
        spec({**COUPLING, "hidden": [8, 8], "blocks": 1})


def test_pixels_may_have_a_background():
    model = build_model(spec(multiscale(), pixels="background", pixel_levels=17, logit_alpha=0.1), (1, 8, 8), 2)
    first = model.flow.layers[0]
    assert (type(first), first.levels, first.logit.alpha) == (BackgroundLogit, 17, 0.1)


def test_split_prior_conditions_what_is_left_out_on_what_is_kept():
    model = build_model(spec(multiscale(2, None, split_prior=True)), (1, 8, 8), 2)
    (factored,) = [module for module in model.modules() if isinstance(module, FactorOut)]
    conv = factored.conditioner
    assert isinstance(conv, Conv3x3)
    assert (conv.in_channels, conv.out_channels) == (2, 4)
    assert not conv.weight.any()


@pytest.mark.parametrize(
    ("f", "more", "shape", "message"),
    [
        (multiscale(), {}, (4,), "takes images"),
        (multiscale(), {}, (1, 6, 6), "divides, got 3×3"),
        (multiscale(5, 4), {}, (1, 8, 8), "of 4 channels, got 5"),
        (multiscale(5, split_prior=True), {}, (1, 8, 8), "of 4 channels, got 5"),
        ({**COUPLING, "steps": [2, 2]}, {"z_f": 2}, (4,), r"must be one number, got \[2, 2\]"),
        (COUPLING, {"z_f": 9}, (4,), "got 9"),
        (COUPLING, {}, (1,), "at least 2 channels"),
        (COUPLING, {"label_prior": [0.5, 0.5]}, (4,), "must hold 3"),
        (COUPLING, {"label_prior": "labelled"}, (4,), "needs labelled rows"),
    ],
)
def test_what_cannot_be_built_is_refused(f, more, shape, message):
    with pytest.raises(ValueError, match=message):
        build_model(spec(f, {"kind": "gaussian"}, **more), shape, 3)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [("uniform", [1 / 3, 1 / 3, 1 / 3]), ([1.0, 1.0, 2.0], [0.25, 0.25, 0.5]), ("labelled", [0.5, 0.375, 0.125])],
)
def test_label_prior(prior, expected):
    model = build_model(spec(label_prior=prior), (2,), 3, labelled_counts=torch.tensor([4, 3, 0]))
    assert model.log_label_prior.exp().tolist() == pytest.approx(expected)


def test_a_labelled_prior_is_the_labelled_frequencies():
    model = build_model(spec(label_prior="labelled"), (2,), 3, labelled_counts=torch.tensor([1, 2, 7]))
    assert model.log_label_prior.exp().tolist() == pytest.approx([0.1, 0.2, 0.7])
