"""Section 4.4 of the paper, data obfuscation: what probes tell of the label from z_f and from z_h, on held-out rows."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from scnf.data import Split, load
from scnf.errors import UserError
from scnf.evaluation.probes import majority_share, probe_held_out
from scnf.evaluation.records import read_record, run_record, write_record
from scnf.evaluation.trained import evaluate_on, split_for
from scnf.experiments import Options, choose
from scnf.experiments.fitting import fit_split, record_of
from scnf.experiments.given_model import default_model, default_recipe
from scnf.experiments.pool import Report, one_thread, run_tasks
from scnf.experiments.rendering import Rendered
from scnf.experiments.study import record_is_of
from scnf.latents import latents_of
from scnf.modelfile import TrainedModel
from scnf.modelfile import load as load_model
from scnf.recipes import Recipe, load_recipe

NAME = "obfuscation"
# Quick enough to train here; of what takes longer a trained model is probed.
TRAINED_HERE, TRAINED_BEFORE = "digits", "mnist"
LABELS, SPLITS = 100, 3
_TRAIN_ROWS, _TEST_ROWS, _MAP_ROWS = 10_000, 10_000, 1_000
_FEWEST_FOR_MAP = 50


@dataclass(frozen=True)
class ProbeTask:
    """A model to probe, and where its record goes; without a file of it, it is trained first."""

    data: str
    recipe: Recipe
    seed: int
    folder: Path
    data_dir: Path | None = None
    model: Path | None = None

    @property
    def minutes(self) -> float | None:
        """The time that its training has; None if it ends after its steps, or was before."""
        return None if self.model else self.recipe.training.max_minutes

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return self.folder / f"{self.data}-{self.seed}.json"

    def is_done(self) -> bool:
        """Return whether a record of this very recipe is there."""
        return self.record_path.is_file() and record_is_of(read_record(self.record_path), self.recipe)


def run_task(task: ProbeTask, report: Report) -> None:
    """Fit, if that is to be done, probe and write the record."""
    if task.model is not None:
        return _probe_trained(load_model(task.model), task.folder, task.data_dir)
    split = load(task.data, LABELS, task.seed, task.data_dir)
    fitted, trained = fit_split(task.recipe, split, lambda share: report(0.7 * share))
    write_record(task.record_path, record_of(NAME, fitted, trained, split, **probe(trained, split, task.data_dir)))
    return None


def probe(trained: TrainedModel, split: Split, data_dir: Path | None = None) -> dict[str, Any]:
    """Return what probes tell of the label from every representation, and a map of z_f and z_h, for a record.

    Probes learn from training rows with all of their labels and are tested on test rows. z_h is encoded by the true
    label and by the predicted one, and each representation is let go alone and with z_aux.
    """
    known = load(split.name, len(split.y_train), split.seed, data_dir)  # the same rows, no label hidden
    train = _representations(trained, known.x_train[:_TRAIN_ROWS], known.y_train[:_TRAIN_ROWS])
    test = _representations(trained, known.x_test[:_TEST_ROWS], known.y_test[:_TEST_ROWS])
    y_train, y_test = known.y_train[:_TRAIN_ROWS], known.y_test[:_TEST_ROWS]
    found = {name: probe_held_out((train[name], y_train), (test[name], y_test)) for name in train}
    return {
        "probes": {name: {result.probe: result.accuracy for result in of} for name, of in found.items()},
        "majority": majority_share(y_test),
        "probe_rows": {"train": len(y_train), "test": len(y_test)},
        "map": _map(test, y_test),
    }


def _representations(trained: TrainedModel, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    everything = latents_of(trained, x, "all").numpy()
    aux, z_f = np.split(everything, [everything.shape[1] - trained.model.conditional.features], axis=1)
    alone = {
        "z_f": z_f,
        "z_h, true label": latents_of(trained, x, "z_h", torch.from_numpy(y)).numpy(),
        "z_h, predicted label": latents_of(trained, x, "z_h").numpy(),
    }
    return alone | ({f"{name} + z_aux": np.hstack([z, aux]) for name, z in alone.items()} if aux.shape[1] else {})


def _map(test: dict[str, np.ndarray], y: np.ndarray) -> dict[str, Any]:
    """Return two coordinates of test rows in z_f and z_h, by t-SNE, and their classes."""
    from sklearn.manifold import TSNE  # noqa: PLC0415 (slow to import)

    if len(y) < _FEWEST_FOR_MAP:
        raise UserError(f"a map needs {_FEWEST_FOR_MAP} test rows at the least, got {len(y)}")
    points = {
        name: TSNE(init="pca", random_state=0).fit_transform(test[name][:_MAP_ROWS])
        for name in ("z_f", "z_h, true label")
    }
    return {**{name: np.round(z, 2).tolist() for name, z in points.items()}, "y": y[:_MAP_ROWS].tolist()}


def _probe_given(options: Options, folder: Path, console: Console) -> None:
    """Probe the model that was given and write its record."""
    assert options.model is not None
    trained = load_model(options.model)
    if options.data and options.data != [trained.data.get("name")]:
        raise UserError(f"{options.model} was trained on {trained.data.get('name')}, not on {', '.join(options.data)}")
    with console.status("Probing …"), one_thread():
        _probe_trained(trained, folder, options.data_dir)


def _probe_trained(trained: TrainedModel, folder: Path, data_dir: Path | None) -> None:
    split = split_for(trained, data_dir=data_dir)
    started, cpu_started = time.perf_counter(), time.process_time()
    found = probe(trained, split, data_dir)
    # The time of the probes: the model's own training is told by its own record.
    seconds, found["cpu_seconds"] = time.perf_counter() - started, time.process_time() - cpu_started
    metrics = evaluate_on(trained, split)
    record = run_record(NAME, trained.recipe, trained.data, metrics, seconds, seed=split.seed, **found)
    write_record(folder / f"{split.name}-{split.seed}.json", record)


def plan(options: Options) -> list[ProbeTask]:
    """Return all models to probe."""
    known = [TRAINED_HERE, TRAINED_BEFORE]
    names = choose("data set (others need a trained model: --model)", known, options.data)
    tasks = []
    if TRAINED_HERE in names:
        recipe = load_recipe(TRAINED_HERE)
        seeds = range(options.splits or SPLITS)
        tasks += [ProbeTask(TRAINED_HERE, recipe, seed, options.out / NAME, options.data_dir) for seed in seeds]
    model, known_recipe = default_model(TRAINED_BEFORE, options.out), default_recipe(TRAINED_BEFORE, options.out)
    if TRAINED_BEFORE in names and model is not None and known_recipe is not None:
        tasks.append(ProbeTask(TRAINED_BEFORE, known_recipe, 0, options.out / NAME, options.data_dir, model))
    return tasks


def run(options: Options) -> dict[str, Any]:
    """Probe what has no record yet, or the model that is given; then render everything from the records."""
    from scnf.experiments.obfuscation_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    console = Console(stderr=True, highlight=False)
    folder, failures = options.out / NAME, []
    if options.model is not None and not options.render_only:
        _probe_given(options, folder, console)
    elif not options.render_only:
        todo = [task for task in plan(options) if not task.is_done()]
        for index, outcome in run_tasks(run_task, todo, options.jobs):
            task = todo[index]
            if isinstance(outcome, Exception):
                failures.append(f"{task.data}, seed {task.seed}: {outcome}")
                console.print(f"failed: {failures[-1]}", style="red")
            else:
                console.print(f"probed {task.data}, seed {task.seed}")
    with one_thread():
        return {**render(folder), "failures": failures}


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.obfuscation_render import rendered, summarize  # noqa: PLC0415 (matplotlib, too)

    return rendered(summarize(out / NAME)) if any((out / NAME).glob("*-*.json")) else None
