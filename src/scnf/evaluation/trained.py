"""A trained model and its numbers on the test rows of a data set."""

from pathlib import Path
from typing import Any

import torch

from scnf.data import Split, load
from scnf.data.published import Report, tell_nobody
from scnf.errors import UserError
from scnf.evaluation.metrics import OnRows, evaluate
from scnf.modelfile import TrainedModel


def describe(trained: TrainedModel) -> dict[str, Any]:
    """Return what a model is and what it was trained on."""
    return {
        "data": trained.data.get("name"),
        "labels": trained.data.get("labels"),
        "seed": trained.data.get("seed"),
        "recipe": trained.recipe.name,
        "parameters": sum(parameter.numel() for parameter in trained.model.parameters()),
    }


def split_for(
    trained: TrainedModel,
    data: str | None = None,
    data_dir: Path | str | None = None,
    on_download: Report = tell_nobody,
) -> Split:
    """Return the split that a model was trained with, or of the data set that is named, which must suit the model."""
    own = trained.data
    name = own.get("name") if data is None else data
    if name is None:
        raise UserError("the model does not tell which data set it was trained on; name one (--data)")
    # Some splits have test rows of their own: only those of the same seed were not trained on.
    labels = own.get("labels") if name == own.get("name") else None
    split = load(name, labels, own.get("seed", 0), data_dir, on_download)
    _check_suits(trained, split)
    return split


def _check_suits(trained: TrainedModel, split: Split) -> None:
    there, here = split.x_test.shape[1:], trained.model.shape
    pairs = [
        ("rows of {} values", _times(there), _times(here)),
        ("classes {}", ", ".join(split.classes), ", ".join(trained.classes)),
        ("{} levels", split.levels, trained.levels),
    ]
    for words, found, known in pairs:
        if found != known:
            raise UserError(
                f"data set {split.name!r} has {words.format(found)}, but the model was trained on {words.format(known)}"
            )


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def evaluate_on(trained: TrainedModel, split: Split, on_rows: OnRows = lambda done, total: None) -> dict[str, float]:
    """Return the metrics of a model on the test rows of a split."""
    x, y = torch.tensor(split.x_test), torch.tensor(split.y_test)
    return evaluate(trained.model, x, y, split.levels, on_rows)
