"""Appendix A and foreign images: records of trained models, and the pages made of them."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scnf.evaluation.packed_images import unpack_images
from scnf.evaluation.records import read_record, write_record
from scnf.experiments import Options, appendix_a, load_experiment, ood
from scnf.experiments.given_model import default_model
from scnf.experiments.mnist import SHIPPED_ROW
from scnf.experiments.rendering import outdated
from scnf.modelfile import load
from tests.cli.conftest import invoke_json, refusal
from tests.small_images import small_image_model


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(appendix_a, "_JUDGED", 10)
    monkeypatch.setattr(ood, "_TEST_ROWS", 40)
    monkeypatch.setattr(ood, "_TRAIN_ROWS", 40)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    small_image_model().save(path)
    return path


def test_the_style_of_a_given_model_is_recorded_and_drawn(tmp_path, model, small_images_found):
    answer = invoke_json("reproduce", "appendix-a", "--model", model, "--out", tmp_path / "out")
    folder = tmp_path / "out" / "appendix-a"
    assert {path.name for path in folder.iterdir()} == {"mnist.json", "mnist.png", "table.md", "table.json"}
    record = read_record(folder / "mnist.json")
    assert unpack_images(record["images"]).shape == (10, 28, 28)
    assert unpack_images(record["grid"]).shape == (100, 28, 28)
    assert {name: len(unpack_images(of)) for name, of in record["samples"].items()} == {"0.5": 40, "0.7": 40, "1.0": 40}
    assert record["judged"] == {"images": 10, "decoded": 100}
    assert "The claim does not hold on mnist" in answer["verdicts"][0], "random weights know no digits"
    assert str(tmp_path / "out" / "README.md") in answer["files"]
    assert outdated(appendix_a.rendered(tmp_path / "out"), folder) == []


def test_scores_of_foreign_images_are_recorded_and_drawn(tmp_path, model, small_images_found):
    own = tmp_path / "out" / "mnist" / SHIPPED_ROW / "mnist-0.safetensors"
    own.parent.mkdir(parents=True)
    shutil.copy(model, own)
    options = Options(out=tmp_path / "out", data=["mnist"])
    assert not ood.plan(options)[0].is_done()
    summary = ood.run(options)
    assert summary["failures"] == []
    folder = tmp_path / "out" / "ood"
    assert {path.name for path in folder.iterdir()} == {"mnist.json", "ood.png", "table.md", "table.json"}
    record = read_record(folder / "mnist.json")
    assert record["other"] == "fashion-mnist"
    assert record["rows"] == {"inside": 40, "outside": 40, "training": 40}
    assert sum(record["histogram"]["inside"]) == pytest.approx(1, abs=1e-3)
    assert outdated(ood.rendered(tmp_path / "out"), folder) == []
    assert ood.plan(options)[0].is_done()
    whole = ood.run(replace(options, data=None))
    assert "ood needs a trained model of fashion-mnist" in whole["failures"][0]


@pytest.mark.usefixtures("shelf")  # without the models that are shipped
@pytest.mark.parametrize("name", ["appendix-a", "ood"])
def test_without_a_model_one_sentence_says_how_to_get_one(tmp_path, name):
    sentence = refusal("reproduce", name, "--out", tmp_path)
    assert f"{name} needs a trained model of mnist" in sentence
    assert "give one (--model RUN), or train it first (scnf reproduce mnist)" in sentence


def test_a_model_of_something_else_is_refused(tmp_path, model, small_images_found):
    sentence = refusal("reproduce", "ood", "--model", model, "--data", "fashion-mnist", "--out", tmp_path / "out")
    assert "the model was trained on mnist, not on fashion-mnist" in sentence
    trained = replace(load(model), data={})
    trained.save(model)
    sentence = refusal("reproduce", "appendix-a", "--model", model, "--out", tmp_path / "out")
    assert "needs a model of a data set of grey images" in sentence


def test_the_headlines_model_comes_before_the_shipped_one(tmp_path, shelf):
    assert default_model("tiny", tmp_path) == shelf / "tiny-100.safetensors"
    path = tmp_path / "mnist" / SHIPPED_ROW / "tiny-0.safetensors"
    path.parent.mkdir(parents=True)
    path.touch()
    assert default_model("tiny", tmp_path) == path
    assert default_model("fashion-mnist", tmp_path) is None


@pytest.mark.usefixtures("shelf")
def test_a_record_of_another_recipe_is_stale(tmp_path, model):
    task = load_experiment("appendix-a").plan(Options(out=tmp_path))[0]
    recipe = load(model).recipe.model_dump(mode="json")
    write_record(task.record_path, {"recipe": recipe, "data": {}, "metrics": {}})
    assert task.is_done(), "without a model at hand a record is valid"
    headline = tmp_path / "mnist" / SHIPPED_ROW / "mnist-0.json"
    write_record(headline, {"recipe": recipe, "data": {}, "metrics": {}})
    assert load_experiment("appendix-a").plan(Options(out=tmp_path))[0].is_done()
    recipe["training"]["steps"] += 1
    write_record(headline, {"recipe": recipe, "data": {}, "metrics": {}})
    assert not load_experiment("appendix-a").plan(Options(out=tmp_path))[0].is_done()


@pytest.mark.parametrize(
    ("inside", "outside", "expected"), [([3.0, 4.0], [1.0, 2.0], 1.0), ([1.0], [2.0], 0.0), ([1.0], [1.0], 0.5)]
)
def test_auroc_counts_pairs(inside, outside, expected):
    assert ood.auroc(np.array(inside), np.array(outside)) == expected


def test_errors_fall_with_coverage_where_confidence_is_right():
    confidence = np.linspace(1, 0, 100)
    errors = ood.selective_errors(confidence, confidence > 0.5)
    assert errors[9] == 0
    assert errors[-1] == 50
    assert errors == sorted(errors)
