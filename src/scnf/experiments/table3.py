"""Table 3 of the paper: MNIST with 100 labels and 49 to 784 components in z_f, all in the same time."""

from typing import Any

import torch

from scnf.data import Split
from scnf.evaluation.metrics import error_percent
from scnf.evaluation.packed_images import pack_images
from scnf.experiments.codes import one_of_each_class, reconstructions
from scnf.experiments.running import StudyExperiment
from scnf.experiments.study import Row, Study
from scnf.modelfile import TrainedModel

# Channels that go on from the two levels of the recipe: of 4, and of 4 for each that the first has kept.
_KEPT = {49: (2, 1), 98: (2, 2), 196: (2, 4), 392: (2, 8), 784: (4, 16)}


def rows(recipe: str) -> tuple[Row, ...]:
    """Return the rows of the table, all of them one recipe that keeps more or fewer channels."""
    return tuple(
        Row(
            str(size),
            recipe,
            {"name": f"table3-{size}", "model.f.levels.0.keep": first, "model.f.levels.1.keep": second},
        )
        for size, (first, second) in _KEPT.items()
    )


def measure(trained: TrainedModel, split: Split) -> dict[str, Any]:
    """Return the error on labelled training rows, and a digit of each class from its z_f alone."""
    known = split.y_train >= 0
    places = one_of_each_class(split)
    return {
        "metrics": {
            "train_error": error_percent(
                trained.log_joint(split.x_train[known]), torch.from_numpy(split.y_train[known])
            )
        },
        "images": pack_images(split.x_test[places][:, 0]),
        "reconstructions": pack_images(reconstructions(trained, split.x_test[places])),
    }


STUDY = Study(
    name="table3", rows=rows("mnist-joint"), data=("mnist",), labels=100, splits=3, minutes=5.0, measure=measure
)
_EXPERIMENT = StudyExperiment(STUDY, "scnf.experiments.table3_render")
plan, run, rendered = _EXPERIMENT.plan, _EXPERIMENT.run, _EXPERIMENT.rendered
