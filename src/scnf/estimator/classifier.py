"""``SCNFClassifier``: the model as a scikit-learn estimator."""

import operator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from scnf.errors import UserError
from scnf.estimator.fitting import Settings, fit_rows
from scnf.estimator.inputs import Inputs
from scnf.estimator.labels import in_own_type, names_of, read_labels, without_label
from scnf.estimator.saving import Saved
from scnf.latents import Latent, check_latent, latents_of
from scnf.modelfile import TrainedModel, from_bytes
from scnf.recipes import Recipe


# scikit-learn would give all latents the names of z_f, so ``transform`` makes its frames itself.
class SCNFClassifier(ClassifierMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """A generative classifier that learns from few labels and many rows without one.

    It is a density p(x, y): ``predict_proba`` is its posterior p(y | x), ``score_samples`` its log p(x), ``sample``
    draws rows of it and ``transform`` tells its latents. X is a table (an array, or a pandas or polars frame, with
    numbers, names and gaps) or images ``[n, h, w]`` or ``[n, c, h, w]``.

    Args:
        unlabeled: the value of y that marks rows without a label; None and NaN always do.
        recipe: the model and its training: a shipped recipe's name, a TOML file or a Recipe; chosen by data if None.
        settings: keys of the recipe to change, such as ``{"training.steps": 100}``.
        n_init: starts, of which the best training objective wins; the recipe's number if None.
        max_seconds: time for the training, to which its schedule is fitted; as long as the recipe says if None.
            Calibration takes up to a quarter of it more.
        calibrate: whether a temperature for the probabilities is found on the labelled rows, by further short fits.
        random_state: fixes all that is drawn.
        verbose: 1 tells what was chosen and how training goes.

    Attributes:
        classes_: the labels, in order.
        model_: the trained model, a ``TrainedModel``; ``model_.recipe`` is what was chosen.
        history_: the training curve, a dict for each point.
        n_features_in_: columns of a table, or values of an image.
        feature_names_in_: names of the columns, if X had any.

    Example:
        >>> from sklearn.datasets import make_moons
        >>> from scnf import SCNFClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> y[10:] = -1
        >>> classifier = SCNFClassifier(settings={"training.steps": 5}, random_state=0).fit(X, y)
        >>> classifier.predict_proba(X).shape
        (200, 2)
    """

    def __init__(
        self,
        *,
        unlabeled: Any = -1,
        recipe: str | Path | Recipe | None = None,
        settings: dict[str, Any] | None = None,
        n_init: int | None = None,
        max_seconds: float | None = None,
        calibrate: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.unlabeled = unlabeled
        self.recipe = recipe
        self.settings = settings
        self.n_init = n_init
        self.max_seconds = max_seconds
        self.calibrate = calibrate
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X and their labels y, which most of them may lack."""
        inputs = Inputs.learned_from(self, X, y)
        self.classes_, codes = read_labels(y, self.unlabeled)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = Settings(
            self.recipe, self.settings or {}, self.n_init, self.max_seconds, self.calibrate, self.verbose
        )
        fitted = fit_rows(inputs, codes, names_of(self.classes_), seed, settings)
        self.model_: TrainedModel = fitted.model
        self.history_: list[dict[str, Any]] = fitted.history
        self._inputs = inputs.without_rows()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        most_probable = self._log_joint(X).argmax(1).numpy()
        return self.classes_[most_probable]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(y | x) of every class, calibrated, ``[n, K]``."""
        return self._log_posterior(X).numpy()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(y | x) of every class, calibrated, ``[n, K]``."""
        return self._log_posterior(X).exp().numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows with a label that are told rightly; rows without one do not count."""
        labels = column_or_1d(in_own_type(y))
        told = ~without_label(labels, self.unlabeled)
        if not told.any():
            raise UserError(f"y has no label to score by: all of its {len(labels)} values are missing or the marker")
        weights = None if sample_weight is None else np.asarray(sample_weight)[told]
        return float(np.average(self.predict(X)[told] == labels[told], weights=weights))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return log p(x) in the data's own units, ``[n]``: low means unusual.

        It is a density of a table's numbers, times the probability of its whole numbers, names and gaps, and of images.
        """
        return self._log_joint(X).logsumexp(1).numpy()

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, np.ndarray]:
        """Draw rows, of one class if y is given, and their labels; rows come as X was: array, frame or images."""
        check_is_fitted(self)
        try:
            n = operator.index(n)
        except TypeError:
            raise UserError(f"n must be a whole number, 1 or more, got {n!r}") from None
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        name = None if y is None else self.model_.classes[self._code(y)]
        x, names = self.model_.sample(n, name, seed=seed)
        codes = np.searchsorted(np.array(self.model_.classes), names, sorter=np.argsort(self.model_.classes))
        return self._inputs.like_training(x), self.classes_[np.argsort(self.model_.classes)[codes]]

    def transform(self, X: Any, y: Any = None, latent: Latent = "z_f") -> Any:
        """Return latents of rows: z_f, which tells the label; z_h, meant not to; or all that x is, [z_aux | z_f].

        z_h needs to know the label of each row; one that y does not give is taken as predicted. Latents come as an
        array, or as the frame that ``set_output`` asks for.
        """
        check_is_fitted(self)
        x = self._inputs.read(self, X)
        z = latents_of(self.model_, x, latent, self._codes(y, len(x)) if latent == "z_h" else None).numpy()
        return self._in_chosen_form(z, X, self._names(latent))

    def inverse_transform(self, Z: Any, y: Any = None, latent: Latent = "z_f") -> Any:
        """Return the rows of latents; those that were left out are taken at their mean, 0. z_h needs y."""
        check_is_fitted(self)
        check_latent(latent)
        model = self.model_.exact
        z = torch.as_tensor(np.asarray(Z), dtype=torch.float64)
        width = model.dimensions if latent == "all" else model.conditional.features
        if z.dim() != 2 or z.shape[1] != width:
            raise UserError(f"{latent} has {width} components, got an array of shape {tuple(z.shape)}")
        with torch.no_grad():
            if latent == "z_h":
                labels = self._codes(y, len(z))
                if labels is None or bool((labels < 0).any()):
                    raise UserError("z_h does not tell the label: y must give that of every row")
                x = model.reveal(z, labels)
            else:
                z_aux = (
                    z.new_zeros(len(z), model.dimensions - z.shape[1])
                    if latent == "z_f"
                    else z[:, : -model.conditional.features]
                )
                x = model.decode(z[:, -model.conditional.features :], z_aux)
        return self._inputs.like_training(self.model_.in_units_of_data(x.float()))

    def obfuscate(self, X: Any, y: Any = None) -> Any:
        """Return z_h: what rows are, apart from their label; one that y does not give is taken as predicted."""
        return self.transform(X, y, latent="z_h")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of what ``transform`` returns by default."""
        check_is_fitted(self)
        return np.array(self._names("z_f"), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what latents come as: "default" (an array), "pandas" or "polars"; None changes nothing."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # scikit-learn's own name for it, known to clone
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a model's file, which ``scnf.load`` and the command line read as well.

        A file that is there already is replaced.
        """
        check_is_fitted(self)
        Saved.of(self).model.save(Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "SCNFClassifier":
        """Read what ``save`` wrote; nothing in the file is ever executed."""
        return Saved.read(path).estimator(cls())

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().copy()
        if "model_" in state:
            # The bytes of a model's file: they outlive changes to the classes of its layers.
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": from_bytes(state["model_"])}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _log_joint(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        return self.model_.log_joint(self._inputs.read(self, X)).double()

    def _log_posterior(self, X: Any) -> torch.Tensor:
        log_joint = self._log_joint(X)
        return (log_joint / self.model_.temperature).log_softmax(1)

    def _names(self, latent: Latent) -> list[str]:
        """Return the names of a latent's components, in their order."""
        model = self.model_.model
        told = [f"{'z_h' if latent == 'z_h' else 'z_f'}{i}" for i in range(model.conditional.features)]
        return [f"z_aux{i}" for i in range(model.dimensions - len(told))] + told if latent == "all" else told

    def _in_chosen_form(self, z: np.ndarray, X: Any, names: list[str]) -> Any:
        """Return latents of X as an array or as a frame, whichever was chosen here or for all of scikit-learn."""
        named = FunctionTransformer(lambda _: z, feature_names_out=lambda *_: names)
        if hasattr(self, "_sklearn_output_config"):
            named.set_output(**self._sklearn_output_config)
        return named.transform(X)

    def _code(self, label: Any) -> int:
        classes = ", ".join(map(str, self.classes_.tolist()))
        if np.asarray(label, dtype=object).ndim:
            raise UserError(f"y must be one of the classes {classes}, got a value of type {type(label).__name__}")
        known = np.flatnonzero(self.classes_ == label)
        if len(known) != 1:
            raise UserError(f"unknown label {label!r}; the classes are {classes}")
        return int(known[0])

    def _codes(self, y: Any, rows: int) -> torch.Tensor | None:
        if y is None:
            return None
        labels = np.asarray(in_own_type(y))
        if labels.shape != (rows,):
            raise UserError(f"y must hold one label for each of {rows} rows, got shape {labels.shape}")
        hidden = without_label(labels, self.unlabeled)
        codes = [-1 if gone else self._code(label) for gone, label in zip(hidden, labels.tolist(), strict=True)]
        return torch.tensor(codes, dtype=torch.int64)
