import torch

from scnf.bijections import ContextAffine
from scnf.recipes.build import build_model
from scnf.training import fit
from scnf.training.optimizer import make_optimizer
from tests.helpers import blobs, same_weights, small_recipe


def test_weight_decay_touches_the_nets_alone():
    recipe = small_recipe(f={"kind": "coupling", "steps": 2, "hidden": [8]}, weight_decay=0.5)
    model = build_model(recipe.model, (2,), 2)
    groups = make_optimizer(model, recipe.training).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed, free = ({names[id(p)] for p in group["params"]} for group in groups)
    assert [group["weight_decay"] for group in groups] == [0.5, 0.0]
    assert decayed | free == set(names.values())
    assert decayed
    assert all(".net." in name and name.endswith(".weight") for name in decayed)
    assert any(isinstance(module, ContextAffine) for module in model.modules())
    assert all(".net." not in name or name.endswith("bias") for name in free)


def test_the_recipe_names_the_optimizer():
    for name, kind in {"adam": torch.optim.AdamW, "adamax": torch.optim.Adamax}.items():
        recipe = small_recipe(optimizer=name, betas=(0.8, 0.9), learning_rate=0.1)
        optimizer = make_optimizer(build_model(recipe.model, (2,), 2), recipe.training)
        assert type(optimizer) is kind
        assert all((group["betas"], group["lr"]) == ((0.8, 0.9), 0.1) for group in optimizer.param_groups)
    adam, adamax = (fit(small_recipe(optimizer=name, steps=3), blobs()).model for name in ("adam", "adamax"))
    assert not same_weights(adam, adamax)
