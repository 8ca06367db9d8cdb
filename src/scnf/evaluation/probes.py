"""Probes: how well simple classifiers tell the label from a representation."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from scnf.errors import UserError

_FOLDS = 5
# A linear probe sees what lies on a side, the other one what is near or far as well.
_PROBES = {"logistic regression": LogisticRegression(max_iter=300), "support vectors (RBF)": SVC()}

BOOSTING = "gradient boosting"
# A family each: what one of them cannot see, another may. Each is made by a seed.
HELD_OUT_PROBES: dict[str, Callable[[int], Any]] = {
    "logistic regression": lambda seed: LogisticRegression(max_iter=300),
    "random forest": lambda seed: RandomForestClassifier(60, min_samples_leaf=3, random_state=seed),
    BOOSTING: lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "neural net": lambda seed: MLPClassifier((64,), early_stopping=True, max_iter=40, random_state=seed),
    "nearest neighbours": lambda seed: KNeighborsClassifier(15),
}


class ProbeResult(NamedTuple):
    """Share of rows that a probe told rightly in folds that it did not learn from."""

    probe: str
    accuracy: float


def probe_accuracies(z: np.ndarray, y: np.ndarray) -> list[ProbeResult]:
    """Return the cross-validated accuracy of each probe that is to tell y ``[N]`` from z ``[N, d]``.

    Columns are standardised. A class with one row alone cannot be learned and tested; at least two of each are needed.

    Example:
        >>> import numpy as np
        >>> y = np.arange(40) % 2
        >>> [result.accuracy for result in probe_accuracies(y[:, None].astype(float), y)]
        [1.0, 1.0]
    """
    fewest = int(np.unique(y, return_counts=True)[1].min()) if len(y) else 0
    if fewest < 2 or len(np.unique(y)) < 2:
        raise UserError("a probe needs two classes with two labelled rows each at the least")
    folds = StratifiedKFold(min(_FOLDS, fewest), shuffle=True, random_state=0)
    found = []
    for name, probe in _PROBES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a probe that is not quite there tells enough
            told = cross_val_predict(make_pipeline(StandardScaler(), probe), z, y, cv=folds)
        found.append(ProbeResult(name, float((told == y).mean())))
    return found


def majority_share(y: np.ndarray) -> float:
    """Return the accuracy of always naming the most frequent class: what a probe that sees nothing has."""
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


class HeldOutResult(NamedTuple):
    """What a probe told of rows that it did not learn from.

    ``auc`` is the share of pairs of rows, one of each class, that it puts in the right order (0.5 by chance; with more
    than two classes the mean over one against the rest): where most rows are of one class, accuracy hides much.
    """

    probe: str
    accuracy: float
    auc: float
    told: np.ndarray


def probe_held_out(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    seed: int = 0,
    probes: Mapping[str, Callable[[int], Any]] = HELD_OUT_PROBES,
) -> list[HeldOutResult]:
    """Return what probes that learn from training rows z ``[N, d]`` and y ``[N]`` tell of test rows.

    Columns are standardised by the training rows.

    Example:
        >>> import numpy as np
        >>> y = np.arange(60) % 2
        >>> z = y[:, None] + np.linspace(0, 0.1, 60)[:, None]
        >>> linear = {"linear": HELD_OUT_PROBES["logistic regression"]}
        >>> [(r.accuracy, r.auc) for r in probe_held_out((z, y), (z, y), probes=linear)]
        [(1.0, 1.0)]
    """
    (z_train, y_train), (z_test, y_test) = train, test
    if len(np.unique(y_train)) < 2 or not np.isin(y_test, y_train).all():
        raise UserError("a probe needs training rows of two classes at the least, and of every class in its test rows")
    results = []
    for name, make in probes.items():
        probe = make_pipeline(StandardScaler(), make(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            probe.fit(z_train, y_train)
        probabilities = probe.predict_proba(z_test)
        told = probe.classes_[probabilities.argmax(1)]
        results.append(HeldOutResult(name, float((told == y_test).mean()), _auc(probe, y_test, probabilities), told))
    return results


def _auc(probe: Any, y: np.ndarray, probabilities: np.ndarray) -> float:
    # A class that the test rows lack has no pairs.
    of_classes = [
        float(roc_auc_score(y == k, probabilities[:, i]))
        for i, k in enumerate(probe.classes_)
        if 0 < (y == k).mean() < 1
    ]
    return float(np.mean(of_classes)) if of_classes else float("nan")
