import numpy as np
import pytest
from sklearn.datasets import make_blobs

from scnf import SCNFClassifier

SHORT = {"training.steps": 10}


def short(**parameters) -> SCNFClassifier:
    """Return a classifier that is fitted in a moment."""
    return SCNFClassifier(**{"settings": SHORT, "calibrate": False, "random_state": 0, **parameters})


def rows(
    n: int = 120, classes: int = 3, features: int = 4, labelled: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return well separated clusters, labels of which most are -1, and all labels."""
    x, truth = make_blobs(n, n_features=features, centers=classes, cluster_std=0.7, random_state=1)
    y = truth.copy()
    for k in range(classes):
        y[np.flatnonzero(truth == k)[labelled // classes :]] = -1
    return x, y, truth


@pytest.fixture(scope="module")
def fitted() -> SCNFClassifier:
    x, y, _ = rows()
    return short().fit(x, y)
