"""What of a training can be refused before anything is begun."""

from scnf.data.batches import batch_counts
from scnf.errors import UserError
from scnf.recipes.schema import TrainingSpec
from scnf.training.compiling import can_compile
from scnf.training.data import TrainingData


def check_training(spec: TrainingSpec, data: TrainingData, processes: int) -> None:
    """Refuse what could only fail: rows that the training cannot use, too many processes, no compiler."""
    if processes > (size := sum(batch_counts(spec, data.y).values())):
        raise UserError(f"{processes} devices cannot share a batch of {size} rows")
    if spec.compile and not can_compile():
        raise UserError(
            "training.compile needs a C++ compiler such as g++, and none is found: install one, or leave the key out"
        )
    if spec.consistency is not None and not data.is_images and not spec.consistency.augment.noise:
        raise UserError(
            "training.consistency alters images of whole numbers; these rows are none, and need "
            "training.consistency.augment.noise above 0"
        )
