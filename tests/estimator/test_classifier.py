import copy
import json
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import scnf
from scnf import SCNFClassifier
from scnf.errors import UserError
from scnf.tensorfile import FileFormatError, read_tensors, write_tensors
from tests.estimator.conftest import rows, short

X, Y, TRUTH = rows()


def test_few_labels_tell_the_classes(fitted):
    assert fitted.score(X, TRUTH) > 0.97
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 4
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.history_[0]["step"] == 1


def test_probabilities_and_labels_agree(fitted):
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_allclose(np.log(probabilities), fitted.predict_log_proba(X), atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(1)])


def test_densities_are_of_the_data_s_own_units(fitted):
    # Ten times as large, a density is smaller by 10 to the number of columns.
    other = short().fit(10 * X, Y)
    difference = fitted.score_samples(X) - other.score_samples(10 * X)
    np.testing.assert_allclose(difference, 4 * np.log(10), atol=0.05)


def test_densities_integrate_to_one():
    x, y, _ = rows(features=2)
    classifier = short().fit(x, y)
    low, high = x.min(0) - 8, x.max(0) + 8
    axes = [np.linspace(a, b, 300) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(classifier.score_samples(grid)).reshape(300, 300)
    assert np.trapezoid(np.trapezoid(density, axes[1]), axes[0]) == pytest.approx(1, abs=0.01)


def test_samples_are_told_as_what_they_are(fitted):
    x, y = fitted.sample(50, y=2, random_state=0)
    assert x.shape == (50, 4)
    assert set(y.tolist()) == {2}
    assert (fitted.predict(x) == 2).mean() > 0.9
    np.testing.assert_array_equal(fitted.sample(50, y=2, random_state=0)[0], x)
    drawn = fitted.sample(300, random_state=1)[1]
    assert set(drawn.tolist()) == {0, 1, 2}


def test_an_unknown_label_cannot_be_drawn(fitted):
    with pytest.raises(UserError, match="unknown label 7; the classes are 0, 1, 2"):
        fitted.sample(2, y=7)


@pytest.mark.parametrize("y", [[0], [0, 1], (0, 1, 2), np.array([0, 1]), pd.Series([0, 1])])
def test_rows_are_drawn_of_one_class(fitted, y):
    named = rf"^y must be one of the classes 0, 1, 2, got a value of type {type(y).__name__}$"
    with pytest.raises(UserError, match=named):
        fitted.sample(2, y=y)


@pytest.mark.parametrize("n", [2.5, 2.0, "2", None])
def test_a_number_of_rows_is_whole(fitted, n):
    with pytest.raises(UserError, match=f"^n must be a whole number, 1 or more, got {n!r}$"):
        fitted.sample(n)
    assert len(fitted.sample(np.int64(2))[1]) == 2


@pytest.mark.parametrize("latent", ["z_f", "z_h", "all"])
def test_latents_come_back_as_rows(fitted, latent):
    z = fitted.transform(X, TRUTH, latent=latent)
    width = fitted.model_.model.conditional.features
    assert z.shape == (120, 4 if latent == "all" else width)
    back = fitted.inverse_transform(z, TRUTH, latent=latent)
    if latent == "all" or width == 4:
        np.testing.assert_allclose(back, X, atol=1e-4)
    np.testing.assert_allclose(fitted.transform(back, TRUTH, latent=latent)[:, -width:], z[:, -width:], atol=1e-3)


def test_z_h_takes_the_predicted_label_where_none_is_given(fitted):
    np.testing.assert_array_equal(fitted.obfuscate(X), fitted.transform(X, fitted.predict(X), latent="z_h"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.transform(X, latent="z"), "latent must be 'z_f', 'z_h' or 'all', got 'z'"),
        (lambda c: c.inverse_transform(np.zeros((2, 9))), "z_f has . components, got an array of shape"),
        (lambda c: c.inverse_transform(c.transform(X, latent="z_h"), latent="z_h"), "y must give that of every row"),
        (lambda c: c.inverse_transform(c.transform(X, latent="z_h"), Y, latent="z_h"), "y must give that of every row"),
        (lambda c: c.score(X, np.full(120, -1)), "y has no label to score by: all of its 120 values"),
        (lambda c: c.obfuscate(X, [0]), "y must hold one label for each of 120 rows"),
        (lambda c: c.obfuscate(X, [9] * 120), "unknown label 9"),
        (lambda c: c.predict(np.zeros((2, 2, 2))), "dim 3"),
    ],
)
def test_what_cannot_be_is_told(fitted, call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted)


def test_a_seed_fixes_the_fit():
    first, second = (short().fit(X, Y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, short(random_state=1).fit(X, Y).predict_proba(X))


def test_parameters_reach_the_recipe():
    classifier = short(n_init=2, max_seconds=30.0).fit(X, Y)
    training = classifier.model_.recipe.training
    assert (training.n_init, training.max_minutes, training.steps) == (2, 0.5, 10)


@pytest.mark.parametrize("recipe", ["toy", scnf.load_recipe("toy")], ids=["name", "recipe"])
def test_a_recipe_may_be_given(recipe):
    classifier = short(recipe=recipe, settings={"training.steps": 2}).fit(X[:, :2], Y)
    assert classifier.model_.recipe.model == scnf.load_recipe("toy").model


def test_a_wrong_setting_is_named():
    with pytest.raises(UserError, match=r"unknown key 'training\.stepps'; did you mean 'training\.steps'"):
        short(settings={"training.stepps": 1}).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        *[
            ({"settings": wrong}, r"^settings must be a dict of .*'training\.steps'")
            for wrong in (["x"], "x", 5, {1: 2})
        ],
        *[
            ({"max_seconds": wrong}, r"^max_seconds must be a finite number above 0, got")
            for wrong in ("x", [1], True, np.ones(2), 0, -1.5, np.nan, np.inf)
        ],
    ],
)
def test_a_parameter_of_the_wrong_type_is_named(parameters, message):
    with pytest.raises(UserError, match=message):
        short(**parameters).fit(X, Y)


def test_verbose_tells_what_was_understood(capsys):
    short(verbose=1).fit(X, Y)
    assert "120 rows, 12 with a label of 3 classes" in capsys.readouterr().out


# In the company of scikit-learn


def test_clones_are_not_fitted(fitted):
    assert not hasattr(clone(fitted), "model_")
    assert clone(fitted).get_params() == fitted.get_params()


def test_pipeline_search_and_validation():
    pipeline = make_pipeline(StandardScaler(), short())
    assert pipeline.fit(X, Y).score(X, TRUTH) > 0.95
    search = GridSearchCV(short(), {"settings": [{"training.steps": 1}, {"training.steps": 3}]}, cv=2)
    assert search.fit(X, TRUTH).best_score_ > 0.9
    assert cross_val_score(short(), X, TRUTH, cv=2, n_jobs=2).min() > 0.9


def test_rows_without_a_label_do_not_count_in_a_score(fitted):
    assert fitted.score(X, Y) == fitted.score(X[Y >= 0], Y[Y >= 0]) > 0.9
    assert fitted.score(X, np.where(Y >= 0, Y, np.nan)) == fitted.score(X, Y)
    wrong = np.where(np.arange(120) == np.flatnonzero(Y >= 0)[0], (Y + 1) % 3, Y)
    assert fitted.score(X, wrong) == pytest.approx(11 / 12)
    assert fitted.score(X, wrong, sample_weight=(wrong == Y).astype(float)) == 1
    assert cross_val_score(short(), X, Y, cv=2).min() > 0.9
    search = GridSearchCV(short(), {"settings": [{"training.steps": 1}, {"training.steps": 3}]}, cv=2)
    assert search.fit(X, Y).best_score_ > 0.9


def test_a_label_that_is_not_given_is_taken_as_predicted(fitted):
    told = np.where(Y >= 0, Y, fitted.predict(X))
    np.testing.assert_array_equal(fitted.obfuscate(X, Y), fitted.obfuscate(X, told))


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda c, x: c.transform(x), ["z_f0", "z_f1"]),
        (lambda c, x: c.transform(x, latent="z_h"), ["z_h0", "z_h1"]),
        (lambda c, x: c.obfuscate(x), ["z_h0", "z_h1"]),
        (lambda c, x: c.transform(x, latent="all"), ["z_aux0", "z_aux1", "z_f0", "z_f1"]),
    ],
    ids=["z_f", "z_h", "obfuscate", "all"],
)
def test_output_may_be_a_frame(fitted, library, call, names):
    framed = copy.copy(fitted).set_output(transform=library.__name__)
    z = call(framed, X)
    assert isinstance(z, library.DataFrame)
    assert list(z.columns) == names
    np.testing.assert_array_equal(z.to_numpy(), call(fitted, X))
    assert framed.get_feature_names_out().tolist() == ["z_f0", "z_f1"]


def test_output_is_chosen_as_scikit_learn_has_it(fitted):
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(120) + 7)
    framed = clone(clone(fitted).set_output(transform="pandas")).set_output()
    z = framed.fit_transform(frame, Y)
    assert z.columns.tolist() == framed.get_feature_names_out().tolist()
    assert z.index.tolist() == frame.index.tolist()
    assert isinstance(framed.set_output(transform="default").transform(frame), np.ndarray)
    with config_context(transform_output="polars"):
        assert isinstance(fitted.transform(X, latent="all"), pl.DataFrame)
    pipeline = make_pipeline(StandardScaler(), short()).set_output(transform="pandas").fit(X, Y)
    assert pipeline.transform(X).columns.tolist() == pipeline[-1].get_feature_names_out().tolist()


def test_a_pickle_is_read_by_another_process(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "model.joblib")
    np.save(tmp_path / "x.npy", X)
    code = "import joblib, numpy as np; print(joblib.load('model.joblib').score_samples(np.load('x.npy')).tolist())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    np.testing.assert_allclose(json.loads(told), fitted.score_samples(X), rtol=1e-9)
    assert b"scnf.bijections" not in pickle.dumps(fitted)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_of_all_kinds_of_columns(library, tmp_path):
    columns = {
        "size": X[:, 0],
        "count": np.round(X[:, 1] * 3).astype(int),
        "kind": np.array(["low", "high"])[(X[:, 2] > 0).astype(int)],
        "same": np.full(120, 4.0),
        "gap": np.where(np.arange(120) % 7 == 0, np.nan, X[:, 3]),
    }
    frame = library.DataFrame(columns)
    names = np.array(["ant", "bee", "cat"], dtype=object)[TRUTH]
    y = np.where(Y >= 0, names, "?")
    classifier = short(unlabeled="?").fit(frame, y)
    assert classifier.feature_names_in_.tolist() == list(columns)
    assert classifier.score(frame, names) > 0.9
    assert np.isfinite(classifier.score_samples(frame)).all()
    drawn, labels = classifier.sample(20, y="bee", random_state=0)
    assert isinstance(drawn, library.DataFrame)
    assert list(drawn.columns) == list(columns)
    assert set(labels.tolist()) == {"bee"}
    assert set(drawn["kind"].to_list() if library is pl else drawn["kind"]) <= {"low", "high"}
    classifier.save(tmp_path / "model.safetensors")
    again = SCNFClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(frame), classifier.predict_proba(frame))
    assert again.classes_.tolist() == ["ant", "bee", "cat"]


# Files


@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_a_file_holds_all_of_it(kind, tmp_path):
    classes = np.array([True, False]) if kind is bool else np.arange(3).astype(kind)
    truth = TRUTH % len(classes)
    x = np.column_stack([X, truth * 9.0])
    y = classes[truth].astype(object)
    y[60:] = None
    first = SCNFClassifier(random_state=0, unlabeled=None, settings={"training.steps": 6}).fit(x, y)
    path = tmp_path / "model.safetensors"
    first.save(path)
    second = SCNFClassifier.load(path)
    assert second.classes_.tolist() == first.classes_.tolist()
    assert type(second.classes_.tolist()[0]) is kind
    np.testing.assert_array_equal(second.predict_proba(x), first.predict_proba(x))
    np.testing.assert_array_equal(second.sample(5, random_state=3)[0], first.sample(5, random_state=3)[0])
    assert second.history_ == first.history_
    assert second.model_.temperature == first.model_.temperature
    # The same file is a model to the rest of scnf.
    assert scnf.load(path).predict(x).label.tolist() == [str(label) for label in first.predict(x)]


def test_a_model_of_something_else_is_refused(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted.model_.save(path)
    with pytest.raises(UserError, match="none of an SCNFClassifier"):
        SCNFClassifier.load(path)
    fitted.save(path)
    tensors, values = read_tensors(path)
    values["data"]["estimator"]["label_type"] = "colour"
    write_tensors(path, tensors, values)
    with pytest.raises(FileFormatError, match="label_type of its estimator"):
        SCNFClassifier.load(path)
