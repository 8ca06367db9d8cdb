"""Appendix A of the paper: digits encoded with their labels and decoded with every label; and samples beside them."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from scnf.data import load
from scnf.evaluation.packed_images import pack_images
from scnf.evaluation.records import run_record
from scnf.evaluation.trained import split_for
from scnf.experiments import Options
from scnf.experiments.codes import decoded_with_every_label, one_of_each_class
from scnf.experiments.given_model import ModelTask, make_records, plan_models, read_all
from scnf.experiments.pool import one_thread
from scnf.experiments.rendering import Rendered
from scnf.modelfile import TrainedModel

NAME = "appendix-a"
DATA = ("mnist",)
TEMPERATURES = (0.5, 0.7, 1.0)
SAMPLES = 4  # of each class and temperature
_JUDGED, _JUDGE_ROWS, _NEIGHBOURS = 100, 10_000, 5


def look_at(trained: TrainedModel, data_dir: Path | None) -> dict[str, Any]:
    """Return the record of a model: the grid, the samples, and whether decoded images are of their new label.

    That is judged by nearest neighbours among real training images with all their labels, which know nothing of the
    model.
    """
    started = time.perf_counter()
    split = split_for(trained, data_dir=data_dir)
    places = one_of_each_class(split)
    grid = decoded_with_every_label(trained, split.x_test[places], split.y_test[places])
    samples = {
        str(temperature): pack_images(
            np.concatenate([trained.sample(SAMPLES, name, temperature)[0][:, 0] for name in trained.classes])
        )
        for temperature in TEMPERATURES
    }
    known = load(split.name, len(split.y_train), split.seed, data_dir)  # no label hidden
    x, y = split.x_test[:_JUDGED], split.y_test[:_JUDGED]
    decoded = decoded_with_every_label(trained, x, y)
    metrics = _judged(known.x_train[:_JUDGE_ROWS], known.y_train[:_JUDGE_ROWS], x, y, decoded)
    return run_record(
        NAME,
        trained.recipe,
        trained.data,
        metrics,
        time.perf_counter() - started,
        seed=split.seed,
        classes=list(trained.classes),
        judged={"images": len(x), "decoded": decoded.shape[0] * decoded.shape[1]},
        images=pack_images(split.x_test[places][:, 0]),
        grid=pack_images(grid.reshape(-1, *grid.shape[2:])),
        samples=samples,
    )


def _judged(
    x_known: np.ndarray, y_known: np.ndarray, x: np.ndarray, y: np.ndarray, decoded: np.ndarray
) -> dict[str, float]:
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415 (slow to import)

    judge = KNeighborsClassifier(_NEIGHBOURS).fit(x_known.reshape(len(x_known), -1), y_known)
    told = judge.predict(decoded.reshape(decoded.shape[0] * decoded.shape[1], -1)).reshape(decoded.shape[:2])
    labels = np.arange(decoded.shape[1])
    other = labels[None] != y[:, None]
    # How much ink an image has is a part of its style that needs no classifier to be seen.
    ink = x.reshape(len(x), -1).mean(1)
    ink_decoded = decoded.reshape(*decoded.shape[:2], -1).mean(2)
    by_label = [np.corrcoef(ink, ink_decoded[:, k])[0, 1] for k in labels if ink_decoded[:, k].std() > 0]
    return {
        "followed": 100 * float((told == labels)[other].mean()),
        "kept_old": 100 * float((told == y[:, None])[other].mean()),
        "judge_on_images": 100 * float((judge.predict(x.reshape(len(x), -1)) == y).mean()),
        "ink_correlation": float(np.mean(by_label)) if by_label else 0.0,
    }


def plan(options: Options) -> list[ModelTask]:
    """Return the records to make."""
    return plan_models(NAME, DATA, options)


def run(options: Options) -> dict[str, Any]:
    """Make the record of the model, then render page and figure from the records."""
    from scnf.experiments.appendix_a_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    # A model that is given may be of other data.
    tasks = [] if options.model is not None else plan(options)
    failures = make_records(NAME, tasks, options, look_at)
    with one_thread():
        return {**render(options.out / NAME), "failures": failures}


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.appendix_a_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    records = read_all(out / NAME)
    return rendered(records) if records else None
