"""``AttributeHider``: rows of a table without what they tell of one column."""

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from scnf.errors import UserError
from scnf.estimator import SCNFClassifier
from scnf.fairness.cells import OrderedCells
from scnf.latents import latents_of
from scnf.recipes import Recipe
from scnf.tables import Table, split_target


class AttributeHider(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns the rows of a table into z_h = h(z; protected), which should no longer tell the protected column.

    The protected column is the label of a semi-conditional flow: h learns the rows of each of its values as one and the
    same normal distribution. z holds all columns but the protected one and the task, so nothing of a row goes past h.
    Where the protected value is missing, in training or later, the model's own prediction takes its place: the rows
    are learned from all the same, but what is let go then tells more. This is no guarantee of privacy.

    Args:
        protected: name of the column to hide.
        task: name of a column that is to be told from what is let go. It is no part of it; it puts categories in order,
            so that those which mean the same for the task lie side by side.
        recipe: the model and its training: a shipped recipe's name, a TOML file or a Recipe.
        settings: keys of the recipe to change, such as ``{"training.steps": 100}``.
        max_seconds: time for the training, to which its schedule is fitted; as long as the recipe says if None.
        random_state: fixes all that is drawn in ``fit``, and the noise of ``transform``; None draws anew each time.

    Attributes:
        classifier_: the ``SCNFClassifier`` of the protected column.
        classes_: values of the protected column.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> sex = np.array(["f", "m"], dtype=object)[rng.integers(0, 2, 200)]
        >>> table = {"sex": sex, "height": rng.normal(165 + 13 * (sex == "m"), 7)}
        >>> hider = AttributeHider("sex", settings={"training.steps": 5}, random_state=0)
        >>> hider.fit_transform(table).shape
        (200, 1)
    """

    def __init__(
        self,
        protected: str,
        *,
        task: str | None = None,
        recipe: str | Recipe = "table",
        settings: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
    ):
        self.protected = protected
        self.task = task
        self.recipe = recipe
        self.settings = settings
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table with the protected column, which may have gaps; y is ignored."""
        table = Table.of(X)
        rest, protected = split_target(table, self.protected)
        if all(value is None for value in protected.tolist()):
            raise UserError(
                f"column {self.protected!r} holds no value: what is to be hidden must be known of some rows"
            )
        by = None if self.task is None else _rank_of_task(table, self.task)
        rng = self._rng()
        self.cells_ = OrderedCells(self._without_task(rest), by)
        self.classifier_ = SCNFClassifier(
            recipe=self.recipe,
            settings=self.settings,
            max_seconds=self.max_seconds,
            calibrate=False,
            random_state=int(rng.integers(2**31 - 1)),
        )
        self.classifier_.fit(self.cells_.encode(rest, rng), protected)
        self.classes_ = self.classifier_.classes_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return z_h ``[N, columns]``, by the protected column where that is known, else by the prediction."""
        rows = self.encode(X)
        table, codes = Table.of(X), None
        if self.protected in table.columns:
            known = {value: code for code, value in enumerate(self.classes_.tolist())}
            _, protected = split_target(table, self.protected)
            if strange := [value for value in protected.tolist() if value is not None and value not in known]:
                raise UserError(
                    f"column {self.protected!r} holds {strange[0]!r}, which training did not have; "
                    f"known are {', '.join(map(str, known))}"
                )
            codes = torch.tensor([known.get(value, -1) for value in protected.tolist()])
        return latents_of(self.classifier_.model_, rows, "z_h", codes).numpy()

    def encode(self, X: Any) -> np.ndarray:
        """Return what rows are before anything is hidden: their normal components with the noise of this call."""
        check_is_fitted(self)
        return self.cells_.encode(Table.of(X), self._rng())

    def predict(self, X: Any) -> np.ndarray:
        """Return the protected column as the model tells it from the other columns."""
        return self.classifier_.predict(self.encode(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of what ``transform`` returns."""
        check_is_fitted(self)
        return np.array([f"z_h {name}" for name in self.cells_.names], dtype=object)

    def _without_task(self, table: Table) -> Table:
        return table if self.task is None else table.without([self.task])

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))


def _rank_of_task(table: Table, task: str) -> np.ndarray:
    """Return the task's values as numbers: those that it has, or the places of its names in their order."""
    values = table.select([task]).columns[task]
    if values.dtype != object:
        return np.nan_to_num(values.astype(np.float64))
    names = sorted({str(value) for value in values.tolist() if value is not None})
    return np.array([names.index(str(value)) if value is not None else 0 for value in values.tolist()], dtype=float)
