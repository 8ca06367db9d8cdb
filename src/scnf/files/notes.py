"""What a model's file says of the files that it was learned from; a model of a named data set says none of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scnf.estimator.images import ImageFormat
from scnf.estimator.labels import LabelType, classes_from
from scnf.estimator.saving import KEY, EstimatorNotes, ImageNotes
from scnf.files.source import FileSource
from scnf.modelfile import TrainedModel
from scnf.tables.incoming import text_of
from scnf.tables.table import listed

UNKNOWN = -2  # a label that the model does not know


def notes_of_files(source: FileSource, label_type: LabelType, images: ImageFormat | None) -> dict[str, Any]:
    """Return what to keep in a model's file, so that an ``SCNFClassifier`` can be loaded from it too."""
    notes = EstimatorNotes(
        label_type=label_type,
        images=None if images is None else ImageNotes(shape=list(images.shape), shares=images.shares),
        unlabeled=source.unlabeled,
    )
    return {
        "name": source.name,
        "seed": source.seed,
        "target": source.target,
        "ignored": list(source.ignored),
        "stretched": source.image_size is not None,
        "recolored": source.image_color is not None,
        KEY: notes.model_dump(mode="json"),
    }


@dataclass(frozen=True)
class Labels:
    """The classes of a model in the type that people's labels have."""

    names: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, trained: TrainedModel) -> "Labels":
        """Return the labels of a model; those of a named data set are names."""
        kind: LabelType = trained.data.get(KEY, {}).get("label_type", "str")
        return cls(trained.classes, classes_from(trained.classes, kind))

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return the classes of labels ``[N]``: -1 where there is none (None), -2 where the model does not know it."""
        code_of: dict[str | None, int] = {text_of(value): code for code, value in enumerate(self.values.tolist())}
        code_of |= {name: code for code, name in enumerate(self.names)}
        code_of[None] = -1
        return np.array([code_of.get(text_of(label), UNKNOWN) for label in labels.tolist()], dtype=np.int64)

    def listed(self) -> str:
        """Return the names for a message."""
        return listed(self.names)

    def column(self, names: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return names of classes as a column of labels in their own type, None where they are not known."""
        value_of = dict(zip(self.names, self.values.tolist(), strict=True))
        labels = np.array([value_of[name] for name in names.tolist()], dtype=object)
        if known.all() and self.values.dtype.kind in "ifb":
            return labels.astype(self.values.dtype)
        texts = labels if self.values.dtype.kind == "b" else np.array([text_of(x) for x in labels], dtype=object)
        texts[~known] = None
        return texts


def target_of(trained: TrainedModel) -> str | None:
    """Return the column of labels that a model was learned from, if it was one."""
    target = trained.data.get("target")
    return target if isinstance(target, str) else None


def image_format(trained: TrainedModel) -> ImageFormat | None:
    """Return what images a model takes looked like in training, if the file tells it."""
    notes = trained.data.get(KEY, {}).get("images")
    if notes is None or trained.levels is None:
        return None
    return ImageFormat(tuple(notes["shape"]), trained.levels, notes["shares"])
