import numpy as np
import pytest

from scnf.recipes import Recipe, RecipeError, load_recipe, parse_override, recipe_to_toml, shipped_recipes
from tests.helpers import small_recipe

MINIMAL = 'name = "mine"\n[model.f]\nkind = "coupling"\n[model.h]\nkind = "gaussian"\n'


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_file_is_read_with_defaults_for_what_it_leaves_out(write):
    recipe = load_recipe(write(MINIMAL))
    assert recipe.name == "mine"
    assert recipe.model.f.kind == "coupling"
    assert recipe.training == small_recipe().training.__class__()


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipe_loads_and_says_what_it_is_for(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.description


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "[training]\nstepps = 3", r"unknown key 'training\.stepps'; did you mean 'training\.steps'\?"),
        (MINIMAL + "width = 3", r"unknown key 'model\.h\.width'"),
        ("colour = 1\n" + MINIMAL, "unknown key 'colour'"),
        ("steps = 3\n" + MINIMAL, r"unknown key 'steps'; did you mean '.*\.steps'"),
        (MINIMAL + '[training]\nsteps = "many"', r"'many' for key 'training\.steps'.*integer"),
        (MINIMAL + "[training]\nsteps = 0", r"0 for key 'training\.steps'.*greater than or equal to 1"),
        (MINIMAL + "[training]\nbatch_size = 1", r"1 for key 'training\.batch_size'"),
        (MINIMAL + "[training]\nlabelled_weight_start = 0.0", r"0\.0 for key 'training\.labelled_weight_start'"),
        (MINIMAL + "[training]\nlabelled_share = 1.5", r"1\.5 for key 'training\.labelled_share'"),
        (MINIMAL + '[training]\nobjective = "vae"', r"'vae' for key 'training\.objective'.*'sgd' or 'em'"),
        (MINIMAL.replace('"coupling"', '"coupling"\nsteps = 0'), r"0 for key 'model\.f\.steps'.*or equal to 1"),
        (MINIMAL.replace('"coupling"', '"coupling"\nsteps = [2, 0]'), r"for key 'model\.f\.steps"),
        (MINIMAL.replace('"coupling"', '"multiscale"\nlevels = []'), r"\[\] for key 'model\.f\.levels'"),
        (
            MINIMAL.replace('"coupling"', '"multiscale"\nlevels = [{chanel = 1}]'),
            r"unknown key 'model\.f\.levels\.0\.chanel'",
        ),
        (MINIMAL + "[training]\nbetas = [0.9]", r"key 'training\.betas"),
        (MINIMAL + "[training]\nbetas = [1.0, 1.0]", r"1\.0 for key 'training\.betas\.0'.*less than 1"),
        (MINIMAL + "[training]\nlearning_rate = inf", r"inf for key 'training\.learning_rate'.*finite"),
        (MINIMAL + "[training]\nnoise = inf", r"inf for key 'training\.noise'.*finite"),
        (MINIMAL.replace('"coupling"', '"coupling"\nbound = inf'), r"inf for key 'model\.f\.bound'.*finite"),
        ("training = 3\n" + MINIMAL, "3 for key 'training'"),
        (MINIMAL.replace('"gaussian"', '"student"'), r"'student' for key 'model\.h\.kind'.*'gaussian'"),
        (MINIMAL.replace('kind = "gaussian"', ""), r"model\.h.*kind"),
        (MINIMAL.replace('name = "mine"\n', ""), "key 'name' is missing"),
        ('name = "mine"\n[model.f]\nkind = "coupling"\n', r"key 'model\.h' is missing"),
        ("name = ", "not valid TOML: Invalid value"),
    ],
)
def test_a_bad_recipe_is_refused_by_key(write, text, message):
    path = write(text)
    with pytest.raises(RecipeError, match=message) as caught:
        load_recipe(path)
    assert path in str(caught.value)


def test_a_bad_value_of_a_choice_names_the_key(write):
    with pytest.raises(RecipeError, match=r"'flat' for key 'model\.label_prior'"):
        load_recipe(write(MINIMAL), {"model.label_prior": "flat"})


def test_text_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeError, match="UTF-8"):
        load_recipe(path)


def test_unknown_name_and_missing_file_are_refused(tmp_path):
    with pytest.raises(RecipeError, match=r"unknown recipe 'tyo'; shipped are .*toy"):
        load_recipe("tyo")
    with pytest.raises(RecipeError, match="does not exist"):
        load_recipe(tmp_path / "none.toml")


def test_a_file_in_the_current_folder_does_not_shadow_a_shipped_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = load_recipe("toy")
    (tmp_path / "toy").write_text(MINIMAL, encoding="utf-8")
    assert load_recipe("toy") == shipped
    assert load_recipe(tmp_path / "toy").name == load_recipe("./toy").name == "mine"
    with pytest.raises(RecipeError, match="recipe file some/where does not exist"):
        load_recipe("some/where")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.steps=10", ("training.steps", 10)),
        ("training.learning_rate = 1e-3", ("training.learning_rate", 0.001)),
        ("model.f.hidden=[8, 8]", ("model.f.hidden", [8, 8])),
        ("model.f.map=spline", ("model.f.map", "spline")),
        ('model.f.map="spline"', ("model.f.map", "spline")),
        ("model.f.adjoint=true", ("model.f.adjoint", True)),
        ("name=a=b", ("name", "a=b")),
    ],
)
def test_override_is_parsed(text, expected):
    assert parse_override(text) == expected


@pytest.mark.parametrize("text", ["training.steps", "=3", ""])
def test_bad_override_is_refused(text):
    with pytest.raises(RecipeError, match="key=value"):
        parse_override(text)


def test_overrides_replace_single_keys():
    recipe = load_recipe("toy", {"training.steps": 7, "model.h": {"kind": "gaussian"}})
    plain = load_recipe("toy")
    assert recipe.training.steps == 7
    assert recipe.model.h.kind == "gaussian"
    assert recipe.model.f == plain.model.f
    assert recipe.training.learning_rate == plain.training.learning_rate


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_recipe_may_be_another_with_changes(write, quote):
    changes = f"{quote}training.steps{quote} = 7\n{quote}model.f.hidden{quote} = 5\n"
    text = f'name = "mine"\nbase = "toy"\n[change]\n{changes}'
    recipe, base = load_recipe(write(text), {"model.f.blocks": 2}), load_recipe("toy")
    assert (recipe.name, recipe.training.steps, recipe.model.f.hidden, recipe.model.f.blocks) == ("mine", 7, 5, 2)
    assert recipe.model.h == base.model.h
    assert recipe.training == base.training.model_copy(update={"steps": 7})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "none"', "base 'none' is no shipped recipe"),
        ('base = "paper-mnist-98"', "stands on its own"),
        ('base = "toy"\nchange = 3', "change should be a table"),
        ('base = "toy"\n[change]\n"training.stesp" = 3', r"unknown key 'training\.stesp'"),
    ],
)
def test_a_bad_base_or_change_is_refused(write, text, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe(write(f'name = "mine"\n{text}\n'))


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), np.array(3)])
def test_numbers_of_numpy_are_numbers(number):
    assert load_recipe("toy", {"training.n_init": number}).training.n_init == 3
    assert load_recipe("toy", {"training.noise": np.float32(0.5)}).training.noise == 0.5
    with pytest.raises(RecipeError, match=r"1\.5 for key 'training\.n_init'.*integer"):
        load_recipe("toy", {"training.n_init": np.float32(1.5)})


def test_a_single_level_may_be_overridden(write):
    text = MINIMAL.replace('"coupling"', '"multiscale"\nlevels = [{channel = 1}, {channel = 2}]')
    levels = load_recipe(write(text), {"model.f.levels.1.keep": 3}).model.f.levels
    assert [(level.channel, level.keep) for level in levels] == [(1, None), (2, 3)]
    with pytest.raises(RecipeError, match=r"'model\.f\.levels\.2\.keep' is not a key.*'2'.*from 0 to 1"):
        load_recipe(write(text), {"model.f.levels.2.keep": 3})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("training.stesp", "unknown key 'training.stesp'"),
        ("name.first", "'name.first' is not a key: 'name' holds a value"),
        ("colour", "unknown key 'colour'"),
    ],
)
def test_bad_overrides_are_refused_by_key(key, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe("toy", {key: 3})


@pytest.mark.parametrize("name", shipped_recipes())
def test_toml_round_trip_of_shipped_recipes(write, name):
    recipe = load_recipe(name)
    assert load_recipe(write(recipe_to_toml(recipe))) == recipe


def test_toml_round_trip_with_every_kind_of_value(write):
    recipe = Recipe.model_validate(
        {
            "name": "all",
            "description": 'quotes " and\nlines',
            "model": {
                "f": {"kind": "multiscale", "levels": [{"checkerboard": 1, "keep": 2}, {"squeeze": False}]},
                "h": {"kind": "ffjord", "adjoint": True, "rtol": 1e-7},
                "label_prior": [0.25, 0.75],
            },
            "training": {"labelled_weight": 0.5, "betas": [0.8, 0.9]},
        }
    )
    assert load_recipe(write(recipe_to_toml(recipe))) == recipe


def test_a_recipe_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        small_recipe().training.steps = 3


def test_consistency_and_what_keeps_it_steady_is_all_that_its_recipe_adds():
    with_it, without = load_recipe("mnist-consistency"), load_recipe("mnist-joint")
    assert with_it.training.consistency is not None
    # A model that is taught its classes can do without the graph for longer.
    assert with_it.training.guess < without.training.guess
    others = ("guess", "labelled_share", "weight_decay", "clip")
    same = {"consistency": None, **{name: getattr(without.training, name) for name in others}}
    assert with_it.training.model_copy(update=same) == without.training
    assert with_it.model == without.model


def test_the_recipe_mnist_has_no_graph_and_the_network_of_mnist_graph():
    training = load_recipe("mnist").training
    assert (training.guess, training.consistency, training.clf_weight, training.rounds) == (0, None, 0, 3)
    assert load_recipe("mnist").model == load_recipe("mnist-graph").model


def test_in_the_recipe_mnist_graph_it_leads_until_h_has_learned_alone_for_a_while():
    training = load_recipe("mnist-graph").training
    assert 1 - training.h_alone < training.guess < 1
    assert load_recipe("mnist-joint").training.h_alone == 0
