"""The command that makes a run again."""

import shlex
from pathlib import Path

from scnf.modelfile import TrainedModel
from scnf.runs.folder import RECIPE_FILE
from scnf.runs.own import is_file_run, stored_source


def repeat_command(trained: TrainedModel, run: Path) -> str | None:
    """Return the command that makes the same run again; None where there is no run folder to tell it."""
    if not (run / RECIPE_FILE).is_file():
        return None
    recipe, out = ["--recipe", str(run / RECIPE_FILE)], ["--out", f"{run}-again"]
    if not is_file_run(run):
        data = trained.data
        named = ["--data", data["name"], "--labels", str(data["labels"]), "--seed", str(data["seed"])]
        return shlex.join(["scnf", "fit", *named, *recipe, *out])
    return shlex.join(["scnf", "fit", *stored_source(run).arguments(), *recipe, *out])
