import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import scnf
from scnf.export import writing
from scnf.export.classifier import Classifier
from scnf.modelfile import TrainedModel
from scnf.recipes import Recipe
from scnf.recipes.build import build_model
from tests.cli.conftest import invoke, invoke_json, refusal
from tests.helpers import randomize

LU = {"kind": "coupling", "steps": 2, "hidden": [6], "linear": "lu", "order": "actnorm-last"}
FULL = {"kind": "coupling", "steps": 2, "hidden": [6]}
SPLINE = {"kind": "coupling", "steps": 2, "hidden": [6], "map": "spline"}
IMAGES = {"kind": "multiscale", "hidden": 4, "split_prior": True, "levels": [{"channel": 1, "keep": 2}, {"channel": 1}]}
ODE = {"kind": "ffjord", "hidden": 6}
MODELS = {
    "lu": ({"f": LU, "h": FULL}, (3,), None),
    "spline": ({"f": SPLINE, "h": {"kind": "gaussian"}, "z_f": 2, "scaling": "principal"}, (3,), None),
    "images": ({"f": IMAGES, "h": FULL}, (1, 8, 8), 256),
    "background": ({"f": IMAGES, "h": FULL, "pixels": "background"}, (1, 8, 8), 256),
    "ode": ({"f": ODE, "h": {"kind": "gaussian"}}, (2,), None),
    "ode in fixed steps": ({"f": LU, "h": {**ODE, "eval_solver": "midpoint", "solver_steps": 2}}, (2,), None),
}


def random_model(name: str, **changes: Any) -> TrainedModel:
    """Return a model with random weights."""
    spec, shape, levels = MODELS[name]
    recipe = Recipe.model_validate({"name": name, "model": {**spec, **changes}})
    model = randomize(build_model(recipe.model, shape, 3), 0.2)
    return TrainedModel(model.eval(), recipe, ("a", "b", "c"), levels, temperature=2.5)


def run_file(path: Path, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if path.suffix == ".pt2":
        probabilities, log_density = torch.export.load(path).module()(torch.from_numpy(x))
        return probabilities.detach().numpy(), log_density.detach().numpy()
    session = importlib.import_module("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    return tuple(session.run(None, {"x": x}))


@pytest.mark.parametrize("file", ["m.pt2", "m.onnx"])
@pytest.mark.parametrize("name", MODELS)
def test_the_file_says_what_the_model_says_of_any_number_of_rows(folder: Path, name: str, file: str):
    trained = random_model(name)
    trained.save(folder / "m.safetensors")
    told = invoke_json("export", "m.safetensors", "--out", file)
    assert told["probability"] < 1e-4
    assert told["log_density"] < 1e-4
    for rows in (1, 5):
        if trained.levels is None:
            x = np.random.default_rng(0).normal(size=(rows, *trained.model.shape)).astype(np.float32)
        else:
            x = np.random.default_rng(0).integers(0, 256, (rows, *trained.model.shape)).astype(np.float32)
        probabilities, log_density = run_file(folder / file, x)
        log_joint = trained.model.log_joint(trained.rows(x).float())
        shift = 0.0 if trained.levels is None else trained.model.dimensions * np.log(trained.levels)
        np.testing.assert_allclose(probabilities, (log_joint / 2.5).softmax(1).detach(), atol=1e-4)
        np.testing.assert_allclose(log_density, log_joint.logsumexp(1).detach() - shift, rtol=1e-4, atol=1e-3)


def test_a_table_is_exported_behind_its_encoder(folder: Path, fruit_run: Path):
    result = invoke("export", fruit_run, "--format", "torch", "--out", "m.pt2")
    assert result.exit_code == 0
    assert "differs from the model by" in result.stdout
    trained = scnf.load(fruit_run)
    table = trained.sample(20)[0]
    probabilities, _ = run_file(folder / "m.pt2", trained.encoder.encode(table, seed=None))
    np.testing.assert_allclose(probabilities, trained.predict(table).probabilities, atol=1e-4)


def test_a_shipped_model_goes_to_onnx(folder: Path):
    told = invoke_json("export", "mnist-100", "--out", "m.onnx")
    assert told["probability"] < 1e-4
    images = scnf.load("mnist-100").sample(3, seed=1)[0]
    probabilities, _ = run_file(folder / "m.onnx", images.astype(np.float32))
    np.testing.assert_allclose(probabilities, scnf.load("mnist-100").predict(images).probabilities, atol=1e-4)


@pytest.mark.parametrize("file", ["m.pt2", "m.onnx"])
def test_a_wrong_log_density_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, file: str):
    right = Classifier.forward

    def wrong(self: Classifier, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities, log_density = right(self, x)
        return probabilities, log_density + 0.01

    random_model("lu").save(folder / "m.safetensors")
    monkeypatch.setattr(Classifier, "forward", wrong)
    sentence = refusal("export", "m.safetensors", "--out", file)
    assert f"{file} is not written: it would differ from the model by" in sentence
    assert re.search(r"in probability \(limit 0\.001\) and by 0\.00\d+ of the log-density \(limit 0\.0001\)", sentence)
    assert [path.name for path in folder.iterdir()] == ["m.safetensors"]


def test_what_the_file_says_is_judged_and_not_only_what_went_in(folder: Path, monkeypatch: pytest.MonkeyPatch):
    run = writing._run_torch
    monkeypatch.setattr(
        writing, "_run_torch", lambda program, rows: (run(program, rows)[0].flip(1), torch.zeros(len(rows)))
    )
    random_model("lu").save(folder / "m.safetensors")
    assert "m.pt2 is not written" in refusal("export", "m.safetensors", "--out", "m.pt2")
    assert [path.name for path in folder.iterdir()] == ["m.safetensors"]


def test_estimated_log_densities_are_refused(folder: Path):
    random_model("ode", f={**ODE, "trace": "hutchinson"}).save(folder / "m.safetensors")
    sentence = refusal("export", "m.safetensors", "--out", "m.onnx")
    assert 'a model with trace = "hutchinson" cannot be exported' in sentence
    assert 'fit one with trace = "exact"' in sentence


def test_what_onnx_cannot_tell_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "_FOR_ONNX", {})
    random_model("background").save(folder / "m.safetensors")
    assert "ONNX cannot tell this model: it has no prims.ndtri; --format torch can" in refusal(
        "export", "m.safetensors", "--out", "m.onnx"
    )
    assert [path.name for path in folder.iterdir()] == ["m.safetensors"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--out", "m.txt"], "--out must end in .pt2 or .onnx, got m.txt"),
        (["--format", "onnx", "--out", "m.pt2"], "--out must end in .onnx, got m.pt2"),
        (["--format", "magic", "--out", "m.pt2"], "--format must be torch or onnx, got 'magic'"),
        (["--out", "there.pt2"], "there.pt2 exists already"),
    ],
)
def test_what_cannot_be_exported_is_refused(folder: Path, moons_run: Path, options: list[str], named: str):
    (folder / "there.pt2").write_text("mine")
    assert named in refusal("export", moons_run, *options)
    assert [path.name for path in folder.iterdir()] == ["there.pt2"]


def test_missing_packages_are_named(folder: Path, fruit_run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    sentence = refusal("export", fruit_run, "--out", "m.onnx")
    assert "ONNX needs packages that are not installed (onnxruntime): install scnf with its extra `export`" in sentence
    assert list(folder.iterdir()) == []
