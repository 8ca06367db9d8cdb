"""scikit-learn's semi-supervised classifiers, as they are run beside ours."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from scnf.data import Split


@dataclass(frozen=True)
class BaselineResult:
    """Test error in percent and the seconds of fit and prediction."""

    name: str
    error: float
    seconds: float


def label_spreading(neighbors: int) -> Any:
    """Return LabelSpreading on a nearest-neighbour graph; it takes the rows as they are."""
    return LabelSpreading(kernel="knn", n_neighbors=neighbors)


def self_training(classifier: Any) -> Any:
    """Return a classifier that trains itself, on standardised columns."""
    return make_pipeline(StandardScaler(), SelfTrainingClassifier(classifier))


def probabilistic_svc() -> Any:
    """Return an SVC with an RBF kernel that tells probabilities."""
    # Newer versions of scikit-learn want a wrapper in place of ``probability``; the older way serves the SVC better.
    if "probability" in SVC().get_params():
        return SVC(probability=True, random_state=0)
    return CalibratedClassifierCV(SVC(random_state=0), ensemble=False)


BASELINES: dict[str, Callable[[], Any]] = {
    "LabelSpreading, k = 7": lambda: label_spreading(7),
    "LabelSpreading, k = 20": lambda: label_spreading(20),
    "SelfTraining, SVC": lambda: self_training(probabilistic_svc()),
    "SelfTraining, logistic": lambda: self_training(LogisticRegression(max_iter=1000)),
}

# Those that learn from the labelled rows alone.
SUPERVISED: dict[str, Callable[[], Any]] = {
    "SVC": lambda: make_pipeline(StandardScaler(), SVC()),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
COMPARED: dict[str, Callable[[], Any]] = {**BASELINES, **SUPERVISED}


class SklearnSystem(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One of ``COMPARED`` behind the interface of all systems: images are flattened, -1 is a hidden label.

    Example:
        >>> from scnf import load_split
        >>> split = load_split("digits")
        >>> SklearnSystem("SVC").fit(split.x_train, split.y_train).predict(split.x_test).shape
        (599,)
    """

    def __init__(self, name: str):
        self.name = name

    def settings(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return all settings for rows of a shape, for a record."""
        return {"model": {"kind": self.name}, "training": {}}

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X and their labels y, -1 where there is none."""
        X, y = _rows(np.asarray(X)), np.asarray(y)
        rows = y >= 0 if self.name in SUPERVISED else slice(None)
        with _quietly():
            self.classifier_ = COMPARED[self.name]().fit(X[rows], y[rows])
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        with _quietly():
            return self.classifier_.predict(_rows(np.asarray(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(y | x) of every class, ``[n, K]``; not every classifier has it."""
        with _quietly():
            return self.classifier_.predict_proba(_rows(np.asarray(X)))


def run_baseline(name: str, split: Split) -> BaselineResult:
    """Fit one of ``COMPARED`` on a split and return its test error.

    Example:
        >>> from scnf import load_split
        >>> run_baseline("LabelSpreading, k = 20", load_split("circles", labels=10, seed=1)).error < 50
        True
    """
    started = time.perf_counter()
    predicted = SklearnSystem(name).fit(split.x_train, split.y_train).predict(split.x_test)
    error = float(np.mean(predicted != split.y_test)) * 100
    return BaselineResult(name, error, time.perf_counter() - started)


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        # The deprecation above, and rows of the graph that no label reaches.
        warnings.simplefilter("ignore")
        yield


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1).astype(np.float64)
