from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from scnf.data import Split, load
from scnf.evaluation.probes import HELD_OUT_PROBES, probe_held_out
from scnf.evaluation.records import read_record
from scnf.experiments import Options, obfuscation
from scnf.experiments.fitting import fit_split
from scnf.experiments.obfuscation_render import verdict
from scnf.modelfile import TrainedModel
from scnf.recipes import load_recipe
from scnf.recipes.build import build_model
from scnf.shipped import shipped_file
from tests.cli.conftest import invoke_json, refusal
from tests.helpers import small_recipe

PROBES = {name: HELD_OUT_PROBES[name] for name in ("logistic regression", "nearest neighbours")}
REPRESENTATIONS = ["z_f", "z_h, true label", "z_h, predicted label"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tiny_recipe):
    tiny = load_recipe(tiny_recipe("tiny", steps=20))
    monkeypatch.setattr(obfuscation, "load_recipe", lambda name: tiny)
    monkeypatch.setattr(obfuscation, "_TRAIN_ROWS", 400)
    monkeypatch.setattr(obfuscation, "_TEST_ROWS", 200)
    monkeypatch.setattr(obfuscation, "_MAP_ROWS", 60)
    monkeypatch.setattr(obfuscation, "probe_held_out", partial(probe_held_out, probes=PROBES))
    # In this process: workers would know nothing of the above.
    monkeypatch.setattr(
        obfuscation,
        "run_tasks",
        lambda run, tasks, jobs: ((i, run(t, lambda share: None)) for i, t in enumerate(tasks)),
    )


def test_digits_are_trained_probed_recorded_and_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    summary = obfuscation.run(Options(out=tmp_path, splits=2, data=["digits"]))
    folder = tmp_path / "obfuscation"
    assert sorted(path.name for path in folder.iterdir()) == [
        "digits-0.json", "digits-1.json", "digits.png", "table.json", "table.md"
    ]  # fmt: skip
    record = read_record(folder / "digits-0.json")
    assert list(record["probes"]) == REPRESENTATIONS, "without z_aux there is none to let go"
    assert list(record["probes"]["z_f"]) == list(PROBES)
    assert record["probe_rows"] == {"train": 400, "test": 200}
    assert len(record["map"]["z_f"]) == len(record["map"]["y"]) == 60
    assert record["probes"]["z_f"]["logistic regression"] > 0.8, "z_f tells the label"
    page = (folder / "table.md").read_text()
    assert verdict(summary["rows"][0]) in page

    monkeypatch.setattr(obfuscation, "run_task", lambda *args: pytest.fail("there are records"))
    again = obfuscation.run(Options(out=tmp_path, splits=2, data=["digits"]))
    assert again["rows"] == summary["rows"]


def test_a_trained_model_is_probed_with_and_without_z_aux(tmp_path: Path, tiny_recipe):
    recipe = load_recipe(tiny_recipe("small", steps=2), {"model.z_f": 8, "model.scaling": "principal"})
    _, trained = fit_split(recipe, load("digits", 100, seed=1), lambda share: None)
    trained.save(tmp_path / "model.safetensors")
    answer = invoke_json(
        "reproduce", "obfuscation", "--model", tmp_path / "model.safetensors", "--out", tmp_path / "out"
    )
    probes = read_record(tmp_path / "out" / "obfuscation" / "digits-1.json")["probes"]
    assert list(probes) == [*REPRESENTATIONS, *(f"{name} + z_aux" for name in REPRESENTATIONS)]
    assert "The claim does not hold on digits, as to " in answer["verdicts"][0], "after two steps"
    sentence = refusal("reproduce", "obfuscation", "--model", tmp_path / "model.safetensors", "--data", "mnist")
    assert "was trained on digits, not on mnist" in sentence


def test_no_probe_of_five_sees_in_z_h_what_all_see_in_z_f(monkeypatch: pytest.MonkeyPatch):
    # Two Gaussians of different place and shape: once each is its own standard normal, nothing is left to be told.
    rng = np.random.default_rng(0)
    y = np.arange(800) % 2
    shape = np.array([[[1.0, 0.0], [0.5, 1.0]], [[2.0, -1.0], [0.0, 0.3]]])[y]
    x = (np.einsum("nij,nj->ni", shape, rng.normal(size=(800, 2))) + 5.0 * y[:, None]).astype(np.float32)
    split = Split("made-up", 0, x[:400], y[:400], x[400:], y[400:], ("a", "b"))
    recipe = small_recipe(h={"kind": "gaussian", "covariance": "full"})
    model = build_model(recipe.model, (2,), 2)
    model.initialize(torch.tensor(split.x_train), torch.tensor(split.y_train))
    monkeypatch.setattr(obfuscation, "load", lambda *which: split)
    monkeypatch.setattr(obfuscation, "probe_held_out", probe_held_out)  # with all probes
    monkeypatch.setattr(obfuscation, "_map", lambda *rows: {})  # takes longer than the probes
    found = obfuscation.probe(TrainedModel(model.eval(), recipe, split.classes), split)
    assert found["majority"] == 0.5
    assert list(found["probes"]) == REPRESENTATIONS
    for accuracies in found["probes"].values():
        assert accuracies.keys() == HELD_OUT_PROBES.keys()
    assert min(found["probes"]["z_f"].values()) > 0.95
    for hidden in REPRESENTATIONS[1:]:
        assert max(found["probes"][hidden].values()) < found["majority"] + 0.08


def test_other_data_need_a_trained_model(tmp_path: Path):
    sentence = refusal("reproduce", "obfuscation", "--data", "moons", "--out", tmp_path)
    assert "unknown data set (others need a trained model: --model) 'moons'; known are digits, mnist" in sentence


def test_of_mnist_the_model_that_is_there_is_probed(tmp_path: Path, no_data: Path, small_images: Path):
    options = Options(out=tmp_path, data=["mnist"], data_dir=small_images)
    (task,) = obfuscation.plan(options)
    assert task.model == shipped_file("mnist-100")
    assert not task.is_done()
    obfuscation.run(options)
    assert task.is_done()


def test_without_records_there_is_nothing_to_render(tmp_path: Path):
    assert "holds no record" in refusal("reproduce", "obfuscation", "--render", "--out", tmp_path)


@pytest.mark.parametrize(
    ("seen", "hidden", "words"),
    [
        (0.9, 0.15, "holds on digits"),
        (0.9, 0.151, "does not hold on digits, as to z_h"),
        (0.899, 0.15, "does not hold on digits, as to z_f"),
        (0.899, 0.151, "does not hold on digits, as to z_f and z_h"),
    ],
)
def test_the_verdict_asks_the_strongest_probe_of_either(seen: float, hidden: float, words: str):
    accuracies = {"z_h, true label": [0.1, hidden], "z_f": [0.5, seen]}
    probes = {name: {str(i): {"mean": value} for i, value in enumerate(of)} for name, of in accuracies.items()}
    line = verdict({"data": "digits", "probes": probes, "majority": {"mean": 0.1}})
    assert line.startswith(f"**The claim {words}**: the strongest probe tells {hidden:.1%} of the labels from z_h")
    assert f"{seen:.1%} from z_f" in line
