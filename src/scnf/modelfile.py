"""A trained model on disk: weights, recipe, classes and the shape of the data in one safetensors file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from scnf.model import SemiConditionalFlow
from scnf.recipes.build import build_model
from scnf.recipes.schema import Recipe
from scnf.tensorfile import FileFormatError, read_tensors, write_tensors

_FORMAT = 1
_KEYS = ("format", "recipe", "shape", "classes", "levels", "data")
MODEL_FILE = "model.safetensors"


@dataclass
class TrainedModel:
    """A model and all that is needed to use it.

    ``levels`` is set if the model's data are integers to be dequantised; ``data`` tells what it was trained on (name,
    number of labels and seed of a split).
    """

    model: SemiConditionalFlow
    recipe: Recipe
    classes: tuple[str, ...]
    levels: int | None = None
    data: dict[str, Any] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        values = {
            "format": _FORMAT,
            "kind": "model",
            "recipe": self.recipe.model_dump(mode="json"),
            "shape": list(self.model.shape),
            "classes": list(self.classes),
            "levels": self.levels,
            "data": self.data,
        }
        write_tensors(path, self.model.state_dict(), values)


def load(path: str | Path) -> TrainedModel:
    """Read a model file, or the model of a run folder. Nothing in the file is ever executed."""
    path = Path(path)
    if path.is_dir():
        if not (path / MODEL_FILE).is_file():
            raise FileNotFoundError(f"{path} holds no {MODEL_FILE}: the run did not finish, or it is no run folder")
        path = path / MODEL_FILE
    tensors, values = read_tensors(path)
    if values.get("kind") != "model":
        raise FileFormatError(f"{path} is a checkpoint, not a model")
    if values.get("format", _FORMAT) > _FORMAT:
        raise FileFormatError(f"{path} has format {values['format']}; this version of scnf reads up to {_FORMAT}")
    if missing := [key for key in _KEYS if key not in values]:
        raise FileFormatError(f"{path} is damaged: it lacks {', '.join(missing)}")
    try:
        recipe = Recipe.model_validate(values["recipe"])
    except ValidationError as error:
        raise FileFormatError(f"{path} holds a recipe that this version of scnf does not know") from error
    classes = tuple(values["classes"])
    # The label prior is among the weights; any will do to build the model.
    model = build_model(recipe.model, tuple(values["shape"]), len(classes), torch.ones(len(classes)))
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise FileFormatError(f"{path} does not hold the weights of its own recipe") from error
    return TrainedModel(model.eval(), recipe, classes, values["levels"], values["data"])
