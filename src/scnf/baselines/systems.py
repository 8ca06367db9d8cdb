"""The systems by name, each made for a time and a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from scnf.baselines.flows import SCNF, AutoregressiveFlow, FlowGMM, OneFlowPerClass, SupervisedSCNF
from scnf.baselines.sklearn import SklearnSystem
from scnf.baselines.vae_systems import M1, M1M2, M2


class System(Protocol):
    """A scikit-learn classifier that takes -1 for a hidden label.

    Most have two things more: ``score_samples(X)``, log p(x) in the data's own units or a lower bound of it, and
    ``n_parameters_``, how many numbers were learned.
    """

    classes_: np.ndarray

    def settings(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return all settings for rows of a shape, for a record: ``model`` and ``training``."""
        ...

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows and their labels."""
        ...

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        ...

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(y | x) of every class, ``[n, K]``."""
        ...


@dataclass(frozen=True)
class Entry:
    """What a system is called, whether its ``score_samples`` is only a bound, and how it is made.

    ``make`` takes the seconds for the training, None for no limit, and the seed; scikit-learn's own take what they
    take.
    """

    title: str
    make: Callable[[float | None, int], System]
    is_bound: bool = False


SYSTEMS: dict[str, Entry] = {
    "scnf": Entry("SCNF", lambda seconds, seed: SCNF(max_seconds=seconds, random_state=seed)),
    "scnf-supervised": Entry(
        "SCNF, labelled rows alone", lambda seconds, seed: SupervisedSCNF(max_seconds=seconds, random_state=seed)
    ),
    "m1": Entry("M1 + SVM", lambda seconds, seed: M1(max_seconds=seconds, random_state=seed), is_bound=True),
    "m2": Entry("M2", lambda seconds, seed: M2(max_seconds=seconds, random_state=seed), is_bound=True),
    "m1-m2": Entry("M1 + M2", lambda seconds, seed: M1M2(max_seconds=seconds, random_state=seed), is_bound=True),
    "flowgmm": Entry("FlowGMM", lambda seconds, seed: FlowGMM(max_seconds=seconds, random_state=seed)),
    "flowgmm-consistency": Entry(
        "FlowGMM, consistency",
        lambda seconds, seed: FlowGMM(consistency=True, max_seconds=seconds, random_state=seed),
    ),
    "flow-per-class": Entry(
        "one flow per class", lambda seconds, seed: OneFlowPerClass(max_seconds=seconds, random_state=seed)
    ),
    "autoregressive": Entry(
        "autoregressive flow", lambda seconds, seed: AutoregressiveFlow(max_seconds=seconds, random_state=seed)
    ),
    # Which number of neighbours is better depends on the data and on how many labels there are.
    "label-spreading-7": Entry("LabelSpreading, k = 7", lambda seconds, seed: SklearnSystem("LabelSpreading, k = 7")),
    "label-spreading-20": Entry(
        "LabelSpreading, k = 20", lambda seconds, seed: SklearnSystem("LabelSpreading, k = 20")
    ),
    "self-training": Entry("SelfTraining, SVC", lambda seconds, seed: SklearnSystem("SelfTraining, SVC")),
    "svc": Entry("SVC, labelled rows alone", lambda seconds, seed: SklearnSystem("SVC")),
}
