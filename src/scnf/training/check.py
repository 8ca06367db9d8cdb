"""What of a training can be refused before anything is begun, and what is said of one that diverged."""

from scnf.data.batches import batch_counts
from scnf.errors import DivergedError, UserError
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


def nothing_finite_error(spec: TrainingSpec, steps: int) -> DivergedError:
    """Return what to raise where no step of all had a finite loss and gradient."""
    return DivergedError(
        f"training diverged: none of {steps} steps had a finite loss and gradient; smaller values of the rows or a "
        f"smaller training.noise (now {spec.noise:g}) would help"
    )


def diverged_error(spec: TrainingSpec, step: int, batches: int, loss: float, norm: float) -> DivergedError:
    """Return what to raise after so many batches in a row without a finite loss and gradient."""
    return DivergedError(
        f"training diverged: {batches} batches in a row up to step {step} gave loss {loss} and gradient norm {norm}; a "
        f"smaller training.learning_rate (now {spec.learning_rate:g}) or training.clip (now {spec.clip:g}) would help; "
        "the weights before them are kept"
    )
