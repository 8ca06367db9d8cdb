"""Section 5 of the paper: does a flow ignore the label of more complex images, and what cures it? Fashion-MNIST."""

from typing import Any

from scnf.data import Split
from scnf.experiments.codes import label_use
from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study
from scnf.modelfile import TrainedModel

_TEST_ROWS = 2000
# Equation 1 alone: no label but the given ones leads, and no loss but the likelihood.
_PLAIN: dict[str, Any] = {"training.guess": 0.0, "training.clf_weight": 0.0}
# Beside the likelihood of 784 pixels a few nats for the class are nothing.
_CLF: dict[str, Any] = {"training.clf_weight": 100.0, "training.clf_temperature": 4.0}
# Without a graph the model is its own teacher: it may begin when it has learned something, and with little weight.
_OWN_TEACHER: dict[str, Any] = {
    "training.consistency.weight": 8.0,
    "training.consistency.weight_end": None,
    "training.consistency.start": 0.3,
}
_GMM: dict[str, Any] = {"model.h": {"kind": "gaussian", "covariance": "full"}}


def rows(recipe: str, with_consistency: str) -> tuple[Row, ...]:
    """Return the rows of the ablation: h as a flow and as a Gaussian per class, and what may cure them."""
    changes = {
        "plain": (recipe, _PLAIN),
        "clf": (recipe, {**_PLAIN, **_CLF}),
        "consistency": (with_consistency, {**_PLAIN, **_OWN_TEACHER}),
        # Two recipes as they are: labels spread along a graph lead at first.
        "graph": (recipe, {}),
        "graph-consistency": (with_consistency, {}),
        "gmm": (recipe, {**_PLAIN, **_GMM}),
        "gmm-clf": (recipe, {**_PLAIN, **_GMM, **_CLF}),
    }
    return tuple(Row(name, base, {"name": f"complex-{name}", **keys}) for name, (base, keys) in changes.items())


def measure(trained: TrainedModel, split: Split) -> dict[str, Any]:
    """Return how much the model uses the label of test rows."""
    return {"metrics": label_use(trained, split.x_test[:_TEST_ROWS], split.y_test[:_TEST_ROWS])}


STUDY = Study(
    name="complex",
    rows=rows("mnist-joint", "mnist-consistency"),
    data=("fashion-mnist",),
    labels=100,
    splits=1,
    minutes=5.0,
    measure=measure,
)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.complex_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
