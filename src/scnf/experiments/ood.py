"""Images of another kind, and the answers a model is unsure of: what log p(x) and the posterior are good for."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scnf.data import load
from scnf.errors import UserError
from scnf.evaluation.records import run_record
from scnf.evaluation.trained import split_for
from scnf.experiments import Options
from scnf.experiments.given_model import ModelTask, make_records, plan_models, read_all
from scnf.experiments.pool import one_thread
from scnf.experiments.rendering import Rendered
from scnf.modelfile import TrainedModel

NAME = "ood"
# A data set and the one that is foreign to its models.
OTHER = {"mnist": "fashion-mnist", "fashion-mnist": "mnist"}
COVERAGES = tuple(share / 20 for share in range(1, 21))
_TEST_ROWS, _TRAIN_ROWS, _BINS = 10_000, 5_000, 60


def auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """Return how often a row of the model's own kind scores higher than one of the other kind, ties half.

    Example:
        >>> import numpy as np
        >>> auroc(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
        0.875
    """
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 (slow to import)

    is_inside = np.concatenate([np.ones(len(inside)), np.zeros(len(outside))])
    return float(roc_auc_score(is_inside, np.concatenate([inside, outside])))


def selective_errors(confidence: np.ndarray, correct: np.ndarray) -> list[float]:
    """Return the error in percent on the most confident rows, for each of ``COVERAGES``.

    Example:
        >>> import numpy as np
        >>> selective_errors(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False]))[-1]
        25.0
    """
    right = correct[np.argsort(-confidence, kind="stable")]
    counts = [max(1, round(coverage * len(right))) for coverage in COVERAGES]
    return [100 * float(1 - right[:count].mean()) for count in counts]


def look_at(trained: TrainedModel, data_dir: Path | None) -> dict[str, Any]:
    """Return the record of a model: how it scores images of its own and of the other kind."""
    started = time.perf_counter()
    split = split_for(trained, data_dir=data_dir)
    if split.name not in OTHER:
        raise UserError(f"{NAME} needs a model of {' or of '.join(OTHER)}, this one was trained on {split.name}")
    other = load(OTHER[split.name], None, split.seed, data_dir)
    joint = trained.log_joint(split.x_test[:_TEST_ROWS])
    inside, outside, training = (
        log_joint.double().logsumexp(1).numpy()
        for log_joint in (
            joint,
            trained.log_joint(other.x_test[:_TEST_ROWS]),
            trained.log_joint(split.x_train[:_TRAIN_ROWS]),
        )
    )
    # Typical rows have a log-density near its mean, minus the entropy: both tails are unusual.
    typical_inside, typical_outside = (-np.abs(scores - training.mean()) for scores in (inside, outside))
    confidence, predicted = (joint / trained.temperature).softmax(1).max(1)
    errors = selective_errors(confidence.numpy(), (predicted == torch.from_numpy(split.y_test[:_TEST_ROWS])).numpy())
    metrics = {
        "auroc_density": auroc(inside, outside),
        "auroc_typicality": auroc(typical_inside, typical_outside),
        "error": errors[-1],
        "error_at_90": errors[COVERAGES.index(0.9)],
        "error_at_50": errors[COVERAGES.index(0.5)],
    }
    nats_a_bit = -trained.model.dimensions * math.log(2)
    return run_record(
        NAME,
        trained.recipe,
        trained.data,
        metrics,
        time.perf_counter() - started,
        seed=split.seed,
        other=other.name,
        rows={"inside": len(inside), "outside": len(outside), "training": len(training)},
        histogram=_histogram(inside / nats_a_bit, outside / nats_a_bit),
        entropy=float(training.mean() / nats_a_bit),
        coverages=list(COVERAGES),
        errors=errors,
    )


def _histogram(inside: np.ndarray, outside: np.ndarray) -> dict[str, Any]:
    """Return shares of rows in even bins of bits/dim; what lies far out is in the last bins."""
    both = np.concatenate([inside, outside])
    low, high = np.quantile(both, [0.001, 0.999])
    edges = np.linspace(low, max(high, low + 1e-6), _BINS + 1)
    shares = {
        name: np.histogram(values.clip(edges[0], edges[-1]), edges)[0] / len(values)
        for name, values in (("inside", inside), ("outside", outside))
    }
    return {"edges": np.round(edges, 4).tolist(), **{name: of.round(5).tolist() for name, of in shares.items()}}


def plan(options: Options) -> list[ModelTask]:
    """Return the records to make."""
    return plan_models(NAME, list(OTHER), options)


def run(options: Options) -> dict[str, Any]:
    """Make the records of the models, then render page and figure from the records."""
    from scnf.experiments.ood_render import render  # noqa: PLC0415 (matplotlib is for this process alone)

    failures = make_records(NAME, plan(options), options, look_at)
    with one_thread():
        return {**render(options.out / NAME), "failures": failures}


def rendered(out: Path) -> Rendered | None:
    """Return what the records say, without figures."""
    from scnf.experiments.ood_render import rendered  # noqa: PLC0415 (matplotlib is for this process alone)

    records = read_all(out / NAME)
    return rendered(records) if records else None
