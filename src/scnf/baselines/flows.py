"""Systems that are flows: SCNF's training with another model, or with other rows."""

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from scnf.estimator import SCNFClassifier
from scnf.recipes import Recipe, load_recipe
from scnf.recipes.load import with_overrides

Kind = Literal["toy", "digits", "mnist-joint"]


def kind_of(shape: tuple[int, ...]) -> Kind:
    """Return the shipped recipe whose training suits rows of a shape: few columns, many or small images, images."""
    values = math.prod(shape)
    if values <= 3:
        return "toy"
    return "digits" if values <= 256 or len(shape) == 1 else "mnist-joint"


class FlowSystem(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A recipe that follows from the shape of the rows, trained by ``SCNFClassifier``.

    Args:
        steps: of training; as many as the recipe says if None.
        max_seconds: time for the training, to which its schedule is fitted; as long as the steps take if None.
        random_state: fixes all that is drawn.
    """

    def __init__(self, *, steps: int | None = None, max_seconds: float | None = None, random_state: Any = None):
        self.steps = steps
        self.max_seconds = max_seconds
        self.random_state = random_state

    @abstractmethod
    def _changes(self, kind: Kind) -> dict[str, Any]:
        """Return the keys of the shipped recipe that are changed."""

    def recipe(self, shape: tuple[int, ...]) -> Recipe:
        """Return the recipe for rows of a shape."""
        kind = kind_of(shape)
        base = load_recipe(kind)
        limits: dict[str, Any] = {"name": type(self).__name__}
        if base.model.z_f is not None and base.model.z_f >= math.prod(shape):
            limits["model.z_f"] = None  # fewer columns than the recipe was made for: all of them go on to h
        if self.steps is not None:
            limits["training.steps"] = self.steps
        if self.max_seconds is not None:
            limits["training.max_minutes"] = self.max_seconds / 60
        return with_overrides(base, {**self._changes(kind), **limits})

    def settings(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return all settings for rows of a shape, for a record."""
        return self.recipe(shape).model_dump(mode="json", include={"model", "training"})

    def _rows(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the rows to learn from."""
        return X, y

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X, a table or images, and their labels y, -1 where there is none."""
        X, y = self._rows(np.asarray(X), np.asarray(y))
        shape = X.shape[1:] if X.ndim != 3 else (1, *X.shape[1:])
        # The temperature changes no answer, and finding it would take time that other systems do not spend.
        self.classifier_ = SCNFClassifier(recipe=self.recipe(shape), calibrate=False, random_state=self.random_state)
        self.classifier_.fit(X, y)
        self.classes_ = self.classifier_.classes_
        self.n_features_in_ = self.classifier_.n_features_in_
        self.n_parameters_ = sum(p.numel() for p in self.classifier_.model_.model.parameters())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        check_is_fitted(self)
        return self.classifier_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(y | x) of every class, ``[n, K]``."""
        check_is_fitted(self)
        return self.classifier_.predict_proba(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return log p(x) in the data's own units, ``[n]``."""
        check_is_fitted(self)
        return self.classifier_.score_samples(X)

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, np.ndarray]:
        """Draw rows, of one class if y is given, and their labels."""
        check_is_fitted(self)
        return self.classifier_.sample(n, y, random_state)


class SCNF(FlowSystem):
    """Our own model by its shipped recipes, measured as all others are.

    Example:
        >>> from scnf import load_split
        >>> split = load_split("moons")
        >>> SCNF(steps=2, random_state=0).fit(split.x_train, split.y_train).predict_proba(split.x_test).shape
        (500, 2)
    """

    def _changes(self, kind: Kind) -> dict[str, Any]:
        return {}


class SupervisedSCNF(SCNF):
    """Our own model, trained on the labelled rows alone."""

    def _rows(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        return X[y >= 0], y[y >= 0]


class FlowGMM(FlowSystem):
    """One flow of all components onto Gaussians that stay where they are, one for each class.

    With ``consistency`` an altered copy of a row (images: shifted and turned; other rows: with noise) is drawn to the
    Gaussian that the row itself lies in, by −log p(x' | ŷ(x)).
    Reference: Izmailov et al., Semi-Supervised Learning with Normalizing Flows (2019).

    Args:
        consistency: whether altered copies are learned from too.
        steps: of training; as many as the recipe says if None.
        max_seconds: time for the training; as long as the steps take if None.
        random_state: fixes all that is drawn.
    """

    def __init__(
        self,
        *,
        consistency: bool = False,
        steps: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
    ):
        super().__init__(steps=steps, max_seconds=max_seconds, random_state=random_state)
        self.consistency = consistency

    def _changes(self, kind: Kind) -> dict[str, Any]:
        changes: dict[str, Any] = {
            "model.z_f": None,
            # As far apart as random means of so many components would be, but on the plane, where the paper's are 7.
            "model.h": {"kind": "fixed-gaussians", "distance": {"toy": 7.0, "digits": 11.0, "mnist-joint": 40.0}[kind]},
        }
        if kind != "mnist-joint":
            # Affine couplings, as the authors have them: an ODE cannot tear a ring open, and fixed means ask for it.
            hidden = {"toy": 64, "digits": 128}[kind]
            changes["model.f"] = {"kind": "coupling", "steps": 8, "hidden": [hidden, hidden]}
            changes |= _FLOWGMM_TRAINING[kind]
        if self.consistency:
            augment = {"noise": 0.1} if kind == "toy" else {"shift": _PIXELS[kind], "rotate": 10.0, "noise": 0.1}
            changes["training.consistency"] = {
                "loss": "likelihood", "weight": 1.0, "start": 0.2, "share": 0.5, "augment": augment
            }  # fmt: skip
        return changes


# Means so far apart hold on to whatever comes near them first: the labels must lead, and for long.
_FLOWGMM_TRAINING: dict[Kind, dict[str, Any]] = {
    "toy": {
        "training.batch_size": 512,
        "training.steps": 1000,
        "training.noise": 0.08,
        "training.learning_rate": 0.008,
        "training.weight_decay": 0.02,
    },
    "digits": {
        "training.steps": 1000,
        "training.labelled_weight_start": 0.9,
        "training.labelled_decay": 0.8,
        "training.learning_rate": 0.002,
        "training.clf_weight": 1.0,
    },
}


class OneFlowPerClass(FlowSystem):
    """A whole flow for every class: parameters and the time of a step grow with their number."""

    def _changes(self, kind: Kind) -> dict[str, Any]:
        if kind == "mnist-joint":
            # f is the map of pixels to the real line alone; all of our f follows in every class.
            own = load_recipe("mnist-joint").model.f.model_dump(mode="json")
            return {"model.f": _PIXELS_ALONE, "model.h": {"kind": "flow-per-class", "flow": own}}
        own = load_recipe(kind).model.f.model_dump(mode="json")
        return {
            "model.z_f": None,
            "model.f": {"kind": "none"},
            "model.h": {"kind": "flow-per-class", "flow": {**own, "blocks": 2}},
        }


class AutoregressiveFlow(FlowSystem):
    """A masked autoregressive flow that is given the label (zuko's): a sample takes as many passes as components.

    On few columns its steps are splines: affine ones cannot bend a disc into a ring.
    """

    def _changes(self, kind: Kind) -> dict[str, Any]:
        h: dict[str, Any] = {
            "kind": "autoregressive",
            "hidden": {"toy": [64, 64], "digits": [128], "mnist-joint": [512]}[kind],
        }
        if kind == "toy":
            h["map"] = "spline"
        if kind == "mnist-joint":
            return {"model.f": _PIXELS_ALONE, "model.h": h}
        training = _AUTOREGRESSIVE_DIGITS if kind == "digits" else {}
        return {"model.z_f": None, "model.f": {"kind": "none"}, "model.h": h, **training}


# All of its weights may serve to learn a hundred labelled rows by heart, and a step too far gives a few test rows
# next to no density: the labels lead, the weights are held small, and those that tell rows kept aside best are kept.
_AUTOREGRESSIVE_DIGITS: dict[str, Any] = {
    "training.labelled_weight_start": 0.9,
    "training.labelled_decay": 0.8,
    "training.clf_weight": 5.0,
    "training.learning_rate": 0.002,
    "training.weight_decay": 5.0,
    "training.holdout": 0.1,
}
_PIXELS_ALONE = {"kind": "multiscale", "levels": [{"squeeze": False}]}
_PIXELS: dict[Kind, float] = {"digits": 0.6, "mnist-joint": 2.0}  # how far altered copies are shifted
