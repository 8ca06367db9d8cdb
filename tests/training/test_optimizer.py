import pytest
import torch

from scnf.bijections import ContextAffine
from scnf.recipes.build import build_model
from scnf.training import fit
from scnf.training.muon import Muon
from scnf.training.optimizer import let_h_learn, make_optimizer, set_rate
from tests.helpers import blobs, same_weights, small_recipe


def test_weight_decay_touches_the_nets_alone():
    recipe = small_recipe(f={"kind": "coupling", "steps": 2, "hidden": [8]}, weight_decay=0.5)
    model = build_model(recipe.model, (2,), 2)
    groups = make_optimizer(model, recipe.training).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decay = {names[id(p)]: group["weight_decay"] for group in groups for p in group["params"]}
    assert set(decay) == set(names.values())
    assert any(isinstance(module, ContextAffine) for module in model.modules())
    weights = {name for name in decay if ".net." in name and name.endswith(".weight")}
    assert {name for name, value in decay.items() if value == 0.5} == weights
    assert {name for name, value in decay.items() if value == 0} == set(decay) - weights


def test_every_group_has_its_rate():
    recipe = small_recipe(f={"kind": "coupling", "hidden": [8]}, optimizer="muon", muon_rate=0.05, h_rate=3.0)
    model = build_model(recipe.model, (2,), 2)
    optimizer = make_optimizer(model, recipe.training)
    set_rate(optimizer, recipe.training.learning_rate / 2)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    rates = {names[id(p)]: group["lr"] for group in optimizer.param_groups for p in group["params"]}
    half = recipe.training.learning_rate / 2
    for name, rate in rates.items():
        of_net = ".net." in name and name.endswith(".weight")
        assert rate == pytest.approx(3 * half if name.startswith("conditional") else 0.025 if of_net else half)


def test_an_h_alone_begins_with_nothing_kept_and_its_nets_move_as_those_of_f():
    recipe = small_recipe(
        f={"kind": "coupling", "hidden": [8]}, optimizer="muon", muon_rate=0.05, h_rate=3.0, weight_decay=0.1
    )
    model, spec = build_model(recipe.model, (2,), 2), recipe.training
    optimizer = make_optimizer(model, spec)
    model.log_joint(torch.randn(5, 2)).sum().backward()
    optimizer.step()
    let_h_learn(optimizer, spec, alone=True)
    set_rate(optimizer, spec.learning_rate / spec.h_rate)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert {names[id(p)].split(".")[0] for p in optimizer.state} == {"flow"}
    for group in optimizer.param_groups:
        for name in (names[id(p)] for p in group["params"] if names[id(p)].startswith("conditional")):
            of_net = ".net." in name and name.endswith(".weight")
            expected = (True, 0.05, 0.2) if of_net else (False, spec.learning_rate, 0.0)
            assert (group["orthogonal"], group["lr"], group["weight_decay"]) == pytest.approx(expected)
    let_h_learn(optimizer, spec, alone=False)
    for group, as_made in zip(optimizer.param_groups, make_optimizer(model, spec).param_groups, strict=True):
        assert {key: group[key] for key in ("orthogonal", "multiple", "weight_decay")} == pytest.approx(
            {key: as_made[key] for key in ("orthogonal", "multiple", "weight_decay")}
        )


def test_the_recipe_names_the_optimizer():
    for name, kind in {"adam": torch.optim.AdamW, "adamax": torch.optim.Adamax, "muon": Muon}.items():
        recipe = small_recipe(optimizer=name, betas=(0.8, 0.9), learning_rate=0.1)
        optimizer = make_optimizer(build_model(recipe.model, (2,), 2), recipe.training)
        assert type(optimizer) is kind
        assert all((group["betas"], group["lr"]) == ((0.8, 0.9), 0.1) for group in optimizer.param_groups)
    kinds = ("adam", "adamax", "muon")
    adam, adamax, muon = (fit(small_recipe(optimizer=name, steps=3), blobs()).model for name in kinds)
    assert not same_weights(adam, adamax)
    assert not same_weights(adam, muon)
