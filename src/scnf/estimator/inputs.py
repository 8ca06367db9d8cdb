"""X as people hand it in, and as the model takes it: tables of columns, or images."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, validate_data

from scnf.errors import UserError
from scnf.estimator.images import ImageFormat
from scnf.tables import Table, TableEncoder, TableSchema
from scnf.tables.incoming import refuse_same_names

_FEWEST = 2  # rows to learn from


@dataclass(frozen=True)
class Inputs:
    """What X is: the columns of a table or the format of images, what kind of frame it came as, and its rows.

    ``rows`` ``[N, ...]`` are those of training, as the model takes them, and ``given`` the same as a table or images;
    nothing that is learned keeps them.
    """

    table: TableSchema | None
    images: ImageFormat | None
    frame: str  # "", "pandas" or "polars"
    rows: torch.Tensor | None = None
    given: Any = None

    @classmethod
    def learned_from(cls, estimator: Any, X: Any, y: Any) -> "Inputs":
        """Return what X is, and its rows; the estimator is given its number and names of features."""
        if _is_image_array(X):
            X = np.asarray(X)
            _check_length(X, y)
            _check_number(X, _FEWEST, "images")
            images = ImageFormat.of(X)
            estimator.n_features_in_ = int(np.prod(images.shape))
            given = images.to_rows(X)
            return cls(None, images, "", torch.from_numpy(given), given)
        table = _table_of(estimator, X, y, reset=True)
        encoder = TableEncoder.fit(table)
        # Whole numbers and names are dequantised once: a seed for all fits, as for images.
        return cls(encoder.schema, None, frame_kind(X), torch.from_numpy(encoder.encode(table, seed=0)), table)

    def read(self, estimator: Any, X: Any) -> Any:
        """Return X as ``TrainedModel.log_joint`` takes it: a table, or images of whole numbers."""
        if self.images is not None:
            X = np.asarray(X)
            if X.ndim not in (3, 4):
                raise UserError(f"the model takes images [n, h, w] or [n, c, h, w], got an array of shape {X.shape}")
            _check_number(X, 1, "images")
            return self.images.to_rows(X)
        return _table_of(estimator, X, None, reset=False)

    def like_training(self, x: Any) -> Any:
        """Return a table or images of the model in the form that X of training had."""
        if self.images is not None:
            return self.images.from_rows(x)
        if self.frame == "pandas":
            import pandas as pd  # type: ignore[import-untyped] # noqa: PLC0415 (only for who has it)

            return pd.DataFrame(dict(x.columns))
        if self.frame == "polars":
            import polars as pl  # noqa: PLC0415

            return pl.from_arrow(x.to_arrow())
        return x.to_array()

    def without_rows(self) -> "Inputs":
        """Return the same without the rows of training."""
        return replace(self, rows=None, given=None)


def frame_kind(X: Any) -> str:
    """Return which library's frame X is, if it is one."""
    module = type(X).__module__.partition(".")[0]
    return module if module in ("pandas", "polars") else ""


def _is_image_array(X: Any) -> bool:
    return getattr(X, "ndim", 2) in (3, 4) or (isinstance(X, list) and np.ndim(X[:1]) in (3, 4))


def _check_length(X: Any, y: Any) -> None:
    if y is None:
        raise UserError("fitting requires y to be passed, but the target y is None")
    check_consistent_length(X, y)


def _check_number(X: Any, least: int, what: str) -> None:
    if len(X) < least:
        raise UserError(f"the number of {what} in X is {len(X)}, but {least} is the least")


def _table_of(estimator: Any, X: Any, y: Any, reset: bool) -> Table:
    least = _FEWEST if reset else 1
    if frame_kind(X):
        refuse_same_names(map(str, getattr(X, "columns", ())))
        # scikit-learn looks at number and names of columns; what is in them is the encoder's to judge.
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        _check_number(X, least, "rows")
    else:
        # Infinities are left to the encoder, which names their column.
        checks = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": least}
        X = validate_data(estimator, X, reset=reset, **checks)
    if reset:
        _check_length(X, y)
    return Table.of(X)
