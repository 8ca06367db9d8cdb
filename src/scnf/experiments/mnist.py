"""The headline: MNIST and Fashion-MNIST with 100 labels, by likelihood, and with consistency beside it."""

from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study

STUDY = Study(
    name="mnist",
    rows=(Row("likelihood", "mnist"), Row("consistency", "mnist-consistency")),
    data=("mnist", "fashion-mnist"),
    labels=100,
    splits=3,
    minutes=150.0,
    one_time=False,
    models="all",
    curves=True,
)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.mnist_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
