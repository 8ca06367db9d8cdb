"""Semi-conditional normalizing flows: one exact generative model from few labels and many unlabelled rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scnf.data import load as load_split
    from scnf.estimator import SCNFClassifier
    from scnf.evaluation.metrics import evaluate
    from scnf.model import Latents, SemiConditionalFlow
    from scnf.modelfile import TrainedModel, load
    from scnf.recipes import Recipe, load_recipe
    from scnf.training import TrainingData, fit

__version__ = "0.1.0"

__all__ = [
    "Latents",
    "Recipe",
    "SCNFClassifier",
    "SemiConditionalFlow",
    "TrainedModel",
    "TrainingData",
    "evaluate",
    "fit",
    "load",
    "load_recipe",
    "load_split",
]

# Names are imported on first use: ``import scnf`` and the command line's help stay fast.
_HOME = {
    "Latents": ("scnf.model", "Latents"),
    "Recipe": ("scnf.recipes", "Recipe"),
    "SCNFClassifier": ("scnf.estimator", "SCNFClassifier"),
    "SemiConditionalFlow": ("scnf.model", "SemiConditionalFlow"),
    "TrainedModel": ("scnf.modelfile", "TrainedModel"),
    "TrainingData": ("scnf.training", "TrainingData"),
    "evaluate": ("scnf.evaluation.metrics", "evaluate"),
    "fit": ("scnf.training", "fit"),
    "load": ("scnf.modelfile", "load"),
    "load_recipe": ("scnf.recipes", "load_recipe"),
    "load_split": ("scnf.data", "load"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'scnf' has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
