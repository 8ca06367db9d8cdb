from dataclasses import replace

import numpy as np
import pytest
import torch

from scnf.modelfile import MODEL_FILE, TrainedModel, from_bytes, load
from scnf.recipes.build import build_model
from scnf.tables import Table, TableEncoder
from scnf.tensorfile import FileFormatError, read_tensors, write_tensors
from scnf.training import fit
from tests.helpers import blobs, randomize, same_weights, small_recipe

MULTISCALE = {"kind": "multiscale", "levels": [{"channel": 1, "keep": 2}, {"channel": 1, "keep": 4}], "hidden": 4}
RECIPES = {
    "vector": (small_recipe(), (2,), None),
    "ffjord-gaussian": (small_recipe(f={"kind": "ffjord", "hidden": 4}, h={"kind": "gaussian"}), (3,), None),
    "image": (small_recipe(f=MULTISCALE), (1, 4, 4), 17),
}


def trained(name: str = "vector") -> TrainedModel:
    recipe, shape, levels = RECIPES[name]
    model = randomize(build_model(recipe.model, shape, 3, torch.ones(3))).eval()
    model.log_label_prior.copy_(torch.tensor([0.2, 0.3, 0.5]).log())
    return TrainedModel(model, recipe, ("ant", "bee", "été"), levels, {"name": "moons", "labels": 10, "seed": 0})


@pytest.fixture
def path(tmp_path):
    return tmp_path / MODEL_FILE


def rewrite(path, without: str = "", **changes) -> None:
    """Change values of a file, and leave one out."""
    tensors, values = read_tensors(path)
    write_tensors(path, tensors, {key: value for key, value in {**values, **changes}.items() if key != without})


@pytest.mark.parametrize("name", RECIPES)
def test_round_trip(path, name):
    first = trained(name)
    first.save(path)
    second = load(path)
    assert same_weights(first.model, second.model)
    assert (second.recipe, second.classes, second.levels, second.data) == (
        first.recipe,
        first.classes,
        first.levels,
        first.data,
    )
    x = torch.rand(5, *first.model.shape)
    assert torch.equal(second.model.log_joint(x), first.model.log_joint(x))
    assert not second.model.training


def test_label_prior_of_the_labelled_rows_is_kept(path):
    first = trained()
    model_spec = first.recipe.model.model_copy(update={"label_prior": "labelled"})
    first.recipe = first.recipe.model_copy(update={"model": model_spec})
    first.save(path)
    torch.testing.assert_close(load(path).model.log_label_prior.exp(), torch.tensor([0.2, 0.3, 0.5]))


def test_a_run_folder_stands_for_its_model(path):
    trained().save(path)
    assert load(str(path.parent)).classes == ("ant", "bee", "été")


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"holds no {MODEL_FILE}"):
        load(tmp_path)


def test_a_missing_file_is_named(path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load(path)


def test_a_checkpoint_is_no_model(path):
    fit(small_recipe(steps=1), blobs(), checkpoint=path)
    with pytest.raises(FileFormatError, match="is a checkpoint, not a model"):
        load(path)


def test_a_newer_format_is_refused(path):
    trained().save(path)
    rewrite(path, format=99)
    with pytest.raises(FileFormatError, match="has format 99; this version of scnf reads up to 2"):
        load(path)


def test_a_newer_format_is_told_whatever_else_it_has(path):
    trained().save(path)
    rewrite(path, without="kind", format=99)
    with pytest.raises(FileFormatError, match="has format 99"):
        load(path)


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("format", "1", "a whole number"),
        ("shape", "2", "a list of sizes"),
        ("shape", [0], "a list of sizes"),
        ("classes", 3, "a list of names"),
        ("classes", [], "a list of names"),
        ("levels", "many", "null or a number from 2 up"),
        ("data", 5, "an object"),
        ("table", {"columns": []}, "null or the columns of a table"),
        ("temperature", 0.0, "a number above 0"),
    ],
)
def test_a_wrong_value_is_named(path, key, value, right):
    trained().save(path)
    rewrite(path, **{key: value})
    with pytest.raises(FileFormatError, match=rf"safetensors is damaged: {key} should be {right}, not "):
        load(path)


@pytest.mark.parametrize(("name", "shape"), [("image", [5]), ("vector", [10**15])])
def test_a_shape_that_the_recipe_cannot_have_is_refused(path, name, shape):
    trained(name).save(path)
    rewrite(path, shape=shape)
    with pytest.raises(FileFormatError, match="its recipe makes no model for rows of shape"):
        load(path)


def test_an_unknown_recipe_is_refused(path):
    trained().save(path)
    rewrite(path, recipe={"name": "x", "colour": 3})
    with pytest.raises(FileFormatError, match="recipe"):
        load(path)


@pytest.mark.parametrize("changes", [{"classes": ["one"]}, {"shape": [5]}])
def test_weights_of_another_model_are_refused(path, changes):
    trained().save(path)
    rewrite(path, **changes)
    with pytest.raises(FileFormatError, match="does not hold the weights of its own recipe"):
        load(path)


@pytest.mark.parametrize("key", ["format", "recipe", "shape", "classes", "levels", "data"])
def test_a_missing_value_is_refused(path, key):
    trained().save(path)
    rewrite(path, without=key)
    with pytest.raises(FileFormatError, match=f"lacks {key}"):
        load(path)


def test_a_damaged_file_is_refused(path):
    trained().save(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


def test_a_file_of_the_first_format_still_loads(path):
    first = trained()
    first.save(path)
    tensors, values = read_tensors(path)
    old = {key: value for key, value in values.items() if key not in ("table", "temperature")}
    write_tensors(path, tensors, {**old, "format": 1})
    second = load(path)
    assert (second.table, second.temperature) == (None, 1.0)
    assert same_weights(first.model, second.model)


def trained_on_a_table() -> TrainedModel:
    table = Table.of({"size": np.linspace(0.0, 5.0, 30), "kind": np.array(["a", "b", "c"] * 10), "same": np.ones(30)})
    recipe, _, _ = RECIPES["vector"]
    model = randomize(build_model(recipe.model, (2,), 2)).eval()
    return TrainedModel(model, recipe, ("no", "yes"), table=TableEncoder.fit(table).schema, temperature=4.0)


def test_a_table_and_a_temperature_are_kept(path):
    first = trained_on_a_table()
    first.save(path)
    second = load(path)
    assert (second.table, second.temperature) == (first.table, 4.0)
    rows = {"kind": ["c", "a"], "size": [0.5, 9.0], "same": [1.0, 1.0]}
    for ours, theirs in zip(second.predict(rows), first.predict(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert second.sample(3, "yes")[0].names == ("size", "kind", "same")


def test_a_temperature_softens_the_probabilities_alone():
    model = trained_on_a_table()
    rows = {"kind": ["c", "a"], "size": [0.5, 9.0], "same": [1.0, 1.0]}
    soft = model.predict(rows)
    sharp = replace(model, temperature=1.0).predict(rows)
    np.testing.assert_array_equal(soft.label, sharp.label)
    np.testing.assert_array_equal(soft.log_density, sharp.log_density)
    odds = [np.log(p[:, 0] / p[:, 1]) for p in (soft.probabilities, sharp.probabilities)]
    np.testing.assert_allclose(4 * odds[0], odds[1])


def test_a_table_is_told_in_its_own_units():
    model = trained_on_a_table()
    rows = {"kind": ["c"] * 4001, "size": np.linspace(-200.0, 200.0, 4001), "same": np.ones(4001)}
    # The mass of all sizes together is that of the category, at the middle of its cell: finite, and far from 0.
    mass = np.trapezoid(np.exp(model.predict(rows).log_density), rows["size"])
    assert 0.05 < mass < 5


def test_columns_that_make_other_rows_are_refused(path):
    trained_on_a_table().save(path)
    rewrite(path, table=TableEncoder.fit(Table.of(np.eye(3))).schema.model_dump(mode="json"))
    with pytest.raises(FileFormatError, match="its columns make no rows of shape"):
        load(path)


def test_bytes_hold_the_same_as_a_file(path):
    first = trained()
    first.save(path)
    assert first.to_bytes() == path.read_bytes()
    assert same_weights(from_bytes(first.to_bytes()).model, first.model)
