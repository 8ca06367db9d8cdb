"""A fitted estimator in a model's file, and from it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scnf.errors import UserError
from scnf.estimator.images import ImageFormat
from scnf.estimator.inputs import Inputs
from scnf.estimator.labels import LabelType, classes_from, type_of
from scnf.modelfile import TrainedModel, load
from scnf.tensorfile import FileFormatError

KEY = "estimator"


class ImageNotes(BaseModel):
    """What images looked like before they became rows of a model."""

    model_config = ConfigDict(strict=True, extra="forbid")

    shape: Annotated[list[int], Field(min_length=2, max_length=3)]
    shares: bool


class EstimatorNotes(BaseModel):
    """What an estimator knows beside its model."""

    model_config = ConfigDict(strict=True, extra="forbid")

    label_type: LabelType
    frame: str = ""
    images: ImageNotes | None = None
    history: list[dict[str, float | int | None]] = []
    unlabeled: bool | int | float | str | None = -1


@dataclass(frozen=True)
class Saved:
    """A model whose ``data`` hold an estimator's notes."""

    model: TrainedModel
    notes: EstimatorNotes

    @classmethod
    def of(cls, estimator: Any) -> "Saved":
        """Return what a file needs of a fitted estimator."""
        inputs: Inputs = estimator._inputs
        images = None
        if inputs.images is not None:
            images = ImageNotes(shape=list(inputs.images.shape), shares=inputs.images.shares)
        unlabeled = estimator.unlabeled
        notes = EstimatorNotes(
            label_type=type_of(estimator.classes_),
            frame=inputs.frame,
            images=images,
            history=estimator.history_,
            unlabeled=unlabeled.item() if isinstance(unlabeled, np.generic) else unlabeled,
        )
        model: TrainedModel = estimator.model_
        return cls(replace(model, data={**model.data, KEY: notes.model_dump(mode="json")}), notes)

    @classmethod
    def read(cls, path: str | Path) -> "Saved":
        """Return what a file holds; a model that no estimator has saved is refused."""
        model = load(path)
        if KEY not in model.data:
            raise UserError(f"{path} holds a model, but none of an SCNFClassifier; scnf.load reads it")
        try:
            notes = EstimatorNotes.model_validate(model.data[KEY])
        except ValidationError as error:
            raise FileFormatError(
                f"{path} is damaged: {error.errors()[0]['loc'][0]} of its estimator is wrong"
            ) from error
        if (notes.images is None) == (model.table is None):
            raise FileFormatError(f"{path} is damaged: it tells neither columns nor images")
        return cls(model, notes)

    def estimator(self, empty: Any) -> Any:
        """Make an estimator, fresh from its constructor, the one that was saved."""
        notes, model = self.notes, self.model
        empty.set_params(unlabeled=notes.unlabeled, recipe=model.recipe)
        empty.model_ = replace(model, data={key: value for key, value in model.data.items() if key != KEY})
        empty.history_ = notes.history
        empty.classes_ = classes_from(model.classes, notes.label_type)
        images = None
        if notes.images is not None:
            images = ImageFormat(tuple(notes.images.shape), model.levels or 2, notes.images.shares)
            empty.n_features_in_ = int(np.prod(images.shape))
        if model.table is not None:
            empty.n_features_in_ = len(model.table.columns)
            if model.table.named:
                empty.feature_names_in_ = np.array(model.table.names, dtype=object)
        empty._inputs = Inputs(model.table, images, notes.frame)
        return empty
