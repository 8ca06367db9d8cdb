"""The headline: MNIST and Fashion-MNIST with 100 labels, by likelihood, and with consistency beside it."""

from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study
from scnf.processor import has_bf16_units
from scnf.training.compiling import can_compile

PRODUCTS = {"training.products": "bf16" if has_bf16_units() else "full"}
# A fit of this length gains more by machine code than the making of it takes.
_FASTER = {"training.compile": can_compile(), **PRODUCTS}
# By the objective of the paper alone: other experiments look at its models.
SHIPPED_ROW = "marginal"

STUDY = Study(
    name="mnist",
    rows=(
        Row(SHIPPED_ROW, "mnist", _FASTER),
        Row("likelihood", "mnist-joint", _FASTER),
        Row("graph", "mnist-graph", _FASTER),
        Row("consistency", "mnist-consistency", _FASTER),
    ),
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
