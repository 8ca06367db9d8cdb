"""What probes tell from a representation: the protected attribute, and a task that should still be solved."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scnf.errors import UserError
from scnf.evaluation.probes import BOOSTING, HELD_OUT_PROBES, majority_share, probe_held_out


@dataclass(frozen=True)
class Measured:
    """Accuracies on test rows of probes that learned from training rows of the same representation.

    ``recovery`` and ``recovery_auc`` are of the protected attribute, by probe; ``strongest`` is the best of them,
    chosen by the test rows, which is on the safe side. ``task_accuracy`` and fairlearn's two differences are those of
    one classifier that is named in advance, ``task_probe``.
    """

    recovery: dict[str, float]
    recovery_auc: dict[str, float]
    strongest: float
    strongest_auc: float
    protected_majority: float
    task_probe: str
    task_accuracy: float
    task_majority: float
    demographic_parity_difference: float
    equalized_odds_difference: float

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for a record."""
        return asdict(self)


def measure(
    train: np.ndarray,
    test: np.ndarray,
    protected: tuple[np.ndarray, np.ndarray],
    task: tuple[np.ndarray, np.ndarray],
    seed: int = 0,
    probes: Mapping[str, Callable[[int], Any]] = HELD_OUT_PROBES,
    task_probe: str = BOOSTING,
) -> Measured:
    """Return what probes tell of the protected attribute and of the task from a representation.

    Args:
        train: what is let go of the training rows, ``[N, d]``.
        test: the same of other rows, ``[M, d]``.
        protected: the true protected values of both, ``[N]`` and ``[M]``.
        task: the values to tell of both; two different ones.
        seed: fixes what the probes draw.
        probes: who tries to tell the protected attribute.
        task_probe: the one of scnf's own that solves the task and is judged for its fairness.
    """
    metrics = _fairlearn()
    values = np.unique(np.concatenate(task))
    if len(values) != 2:
        raise UserError(f"a task has two different values for its fairness to be measured, got {len(values)}")
    found = probe_held_out((train, protected[0]), (test, protected[1]), seed, probes)
    judged = probe_held_out((train, task[0]), (test, task[1]), seed, {task_probe: HELD_OUT_PROBES[task_probe]})[0]
    true, told = task[1] == values[1], judged.told == values[1]
    differences = {
        name: float(getattr(metrics, name)(true, told, sensitive_features=protected[1]))
        for name in ("demographic_parity_difference", "equalized_odds_difference")
    }
    return Measured(
        recovery={result.probe: result.accuracy for result in found},
        recovery_auc={result.probe: result.auc for result in found},
        strongest=max(result.accuracy for result in found),
        strongest_auc=max(result.auc for result in found),
        protected_majority=majority_share(protected[1]),
        task_probe=task_probe,
        task_accuracy=judged.accuracy,
        task_majority=majority_share(task[1]),
        **differences,
    )


def _fairlearn() -> Any:
    try:
        from fairlearn import metrics  # noqa: PLC0415 (an extra, and slow to import)
    except ImportError as error:
        raise UserError(
            "fairness is measured with fairlearn, which is not installed: install scnf with its extra `fairness`"
        ) from error
    return metrics
