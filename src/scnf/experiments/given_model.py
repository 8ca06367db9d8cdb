"""Experiments that train nothing: a record of each trained model, the one that is given or the headline's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from scnf.errors import UserError
from scnf.evaluation.records import read_record, write_record
from scnf.experiments import Options, choose
from scnf.experiments.mnist import SHIPPED_ROW
from scnf.experiments.mnist import STUDY as HEADLINE
from scnf.experiments.pool import one_thread
from scnf.experiments.rendering import TABLE
from scnf.experiments.study import record_is_of
from scnf.modelfile import TrainedModel, load
from scnf.recipes import Recipe
from scnf.shipped import shipped_file, shipped_models

# Makes a record of a trained model; the data may lie in a folder of their own.
Make = Callable[[TrainedModel, Path | None], dict[str, Any]]


def default_model(data: str, out: Path) -> Path | None:
    """Return the model of a data set: the headline's first by likelihood, else the shipped one, else None."""
    path = _headline(data, out, "safetensors")
    if path.is_file():
        return path
    shipped = f"{data}-{HEADLINE.labels}"
    return shipped_file(shipped) if shipped in shipped_models() else None


def default_recipe(data: str, out: Path) -> Recipe | None:
    """Return the recipe of the default model, as the headline's record tells it: a model may be kept elsewhere."""
    record, model = _headline(data, out, "json"), default_model(data, out)
    if record.is_file():
        return Recipe.model_validate(read_record(record)["recipe"])
    return load(model).recipe if model is not None else None


def _headline(data: str, out: Path, ending: str) -> Path:
    return out / HEADLINE.name / SHIPPED_ROW / f"{data}-0.{ending}"


@dataclass(frozen=True)
class ModelTask:
    """A record of the model of a data set; ``model`` and ``recipe`` are None where there is none by default."""

    data: str
    folder: Path
    model: Path | None
    recipe: Recipe | None
    minutes: float | None = None  # nothing is trained

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return record_path(self.folder, self.data)

    def is_done(self) -> bool:
        """Return whether the record is there, and of a model of the recipe that is known."""
        if not self.record_path.is_file():
            return False
        return self.recipe is None or record_is_of(read_record(self.record_path), self.recipe)


def record_path(folder: Path, data: str) -> Path:
    """Return where the record of a model of a data set goes."""
    return folder / f"{data}.json"


def plan_models(name: str, known: Sequence[str], options: Options) -> list[ModelTask]:
    """Return a task for each data set, with its default model."""
    data = choose("data set", known, options.data)
    out = options.out
    return [ModelTask(each, out / name, default_model(each, out), default_recipe(each, out)) for each in data]


def make_records(name: str, tasks: Sequence[ModelTask], options: Options, make: Make) -> list[str]:
    """Make the record of the model that is given, or those of default models that have none; return what failed."""
    console = Console(stderr=True, highlight=False)
    if options.render_only:
        if not read_all(options.out / name):
            raise UserError(f"{options.out / name} holds no record; leave out --render to make one")
        return []
    if options.model is not None:
        _make(name, load(options.model), options, make, console)
        return []
    todo = [task for task in tasks if not task.is_done()]
    missing = [task.data for task in todo if task.model is None]
    if missing and not read_all(options.out / name) and len(missing) == len(todo):
        raise UserError(_needs(name, missing))
    for task in todo:
        if task.model is not None:
            _make(name, load(task.model), options, make, console)
    return [_needs(name, missing)] if missing else []


def _needs(name: str, data: Sequence[str]) -> str:
    return (
        f"{name} needs a trained model of {' and of '.join(data)}: give one (--model RUN), or train it first "
        f"(scnf reproduce {HEADLINE.name})"
    )


def _make(name: str, trained: TrainedModel, options: Options, make: Make, console: Console) -> None:
    data = trained.data.get("name")
    if data is None or len(trained.model.shape) != 3 or trained.model.shape[0] != 1 or trained.levels != 256:
        raise UserError(f"{name} needs a model of a data set of grey images, such as mnist")
    if options.data and list(options.data) != [data]:
        raise UserError(f"the model was trained on {data}, not on {', '.join(options.data)}")
    with console.status(f"Looking at the model of {data} …"), one_thread():
        write_record(record_path(options.out / name, data), make(trained, options.data_dir))


def read_all(folder: Path) -> list[dict[str, Any]]:
    """Return all records of models in a folder, in the order of their names."""
    return [read_record(path) for path in sorted(folder.glob("*.json")) if path.name != TABLE]
