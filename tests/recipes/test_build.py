import pytest
import torch

from scnf.bijections import FactorOut, InvertibleLinear, Logit, LULinear, SplineMap, Standardize
from scnf.densities import ConditionalFlow, GaussianPerClass
from scnf.recipes import load_recipe, shipped_recipes
from scnf.recipes.build import build_model
from scnf.recipes.schema import ModelSpec

COUPLING = {"kind": "coupling", "steps": 3, "hidden": [8]}


def spec(f=COUPLING, h=COUPLING, **more) -> ModelSpec:
    return ModelSpec.model_validate({"f": f, "h": h, **more})


def multiscale(**more) -> dict:
    return {"kind": "multiscale", "steps": [1, 1], "keep": [2, 4], "hidden": 4, **more}


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
    ("keep", "features", "factored"), [([2, 4], 16, 2), ([4, 4], 16, 1), ([2, 8], 32, 1), ([4, 16], 64, 0)]
)
def test_multiscale_keeps_the_channels_asked_for(keep, features, factored):
    model = build_model(spec(multiscale(keep=keep)), (1, 8, 8), 2)
    assert model.conditional.features == features
    assert count(model, FactorOut) == factored
    assert count(model, Logit) == 1
    x = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(model.decode(*model.encode(x)[:2]), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("f", "more", "shape", "message"),
    [
        (multiscale(), {}, (4,), "takes images"),
        (multiscale(keep=[2]), {}, (1, 8, 8), "same number of levels, got 2 and 1"),
        (multiscale(), {}, (1, 6, 6), "divides, got 3×3"),
        (multiscale(keep=[5, 4]), {}, (1, 8, 8), "of 4 channels, got 5"),
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
    [("uniform", [1 / 3, 1 / 3, 1 / 3]), ([1.0, 1.0, 2.0], [0.25, 0.25, 0.5]), ("labelled", [0.5, 0.4, 0.1])],
)
def test_label_prior(prior, expected):
    model = build_model(spec(label_prior=prior), (2,), 3, labelled_counts=torch.tensor([4, 3, 0]))
    assert model.log_label_prior.exp().tolist() == pytest.approx(expected)
