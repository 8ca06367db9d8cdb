"""Objectives and the training loop."""

from scnf.errors import DivergedError
from scnf.training.data import TrainingData
from scnf.training.fit import Fitted, OnRecord, OnStep, fit
from scnf.training.losses import classification_loss, consistency_loss, em_nll, marginal_nll

__all__ = [
    "DivergedError",
    "Fitted",
    "OnRecord",
    "OnStep",
    "TrainingData",
    "classification_loss",
    "consistency_loss",
    "em_nll",
    "fit",
    "marginal_nll",
]
