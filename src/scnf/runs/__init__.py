"""A run folder: what is trained on what, how far it has come, and what came out.

``recipe.toml`` and ``split.json`` are there from the start, ``checkpoint.safetensors`` while training, and
``model.safetensors``, ``history.json`` and ``metrics.json`` at the end. Every file appears whole or not at all and
``metrics.json`` is the last, so a run that was killed at any time can be resumed. ``.lock`` keeps a second session out
while one is training.
"""

from scnf.runs.folder import CHECKPOINT_FILE, HISTORY_FILE, METRICS_FILE, RECIPE_FILE, SPLIT_FILE
from scnf.runs.named import NamedData, Request, resume_run, start_run
from scnf.runs.run import Run, RunData

__all__ = [
    "CHECKPOINT_FILE",
    "HISTORY_FILE",
    "METRICS_FILE",
    "RECIPE_FILE",
    "SPLIT_FILE",
    "NamedData",
    "Request",
    "Run",
    "RunData",
    "resume_run",
    "start_run",
]
