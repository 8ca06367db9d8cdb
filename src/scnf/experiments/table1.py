"""Table 1 of the paper: moons and circles with ten labels, for every pair of f and h, over many splits."""

from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study

# The row that is our own recipe, the one that the demo runs.
OURS = "ffjord-ffjord"

STUDY = Study(
    name="table1",
    rows=(
        Row("glow-glow", "table1-glow-glow"),
        Row("glow-gmm", "table1-glow-gmm"),
        Row("ffjord-glow", "table1-ffjord-glow"),
        Row("ffjord-gmm", "table1-ffjord-gmm"),
        Row("glow-ffjord", "table1-glow-ffjord"),
        Row(OURS, "toy"),
    ),
    data=("moons", "circles"),
    labels=10,
    splits=20,
    models="first",
)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.table1_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
