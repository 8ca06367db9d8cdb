"""An experiment as data: which recipes are trained on which data sets and splits, and for how long."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scnf.data import Split
from scnf.errors import UserError
from scnf.evaluation.records import read_record, read_records
from scnf.experiments import Options, choose
from scnf.modelfile import TrainedModel
from scnf.recipes import Recipe, RecipeError, load_recipe

# What else a record tells of a trained model and its split; ``metrics`` join those that every record has.
Measure = Callable[[TrainedModel, Split], dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """A row of a table: its name (also its folder's), the recipe that it trains, and keys of it that are changed."""

    name: str
    recipe: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def load(self, minutes: float | None = None) -> Recipe:
        """Return the recipe, with so much time for a fit if it is given."""
        limit = {} if minutes is None else {"training.max_minutes": minutes}
        return load_recipe(self.recipe, {**self.changes, **limit})


@dataclass(frozen=True)
class Study:
    """Rows × data sets × splits, and what is kept of each fit besides its record.

    With ``minutes`` a fit has a time, this much unless another is asked for; without, it has its steps. All fits have
    the same time if ``one_time`` is set, else those of a row on a data set, and the table shows it.
    ``models`` says which splits' models are kept, ``curves`` whether the test metrics are followed through a run,
    ``measure`` what else is recorded.
    """

    name: str
    rows: tuple[Row, ...]
    data: tuple[str, ...]
    labels: int
    splits: int
    minutes: float | None = None
    one_time: bool = True
    models: Literal["none", "first", "all"] = "none"
    curves: bool = False
    measure: Measure | None = None

    def budget(self, options: Options, row: str | None = None, data: str | None = None) -> float | None:
        """Return the minutes for each fit: those asked for, else those that the records have, else the study's own.

        Which records: all, or of a row on a data set, where those have a time of their own.

        Records of another budget are made anew, which nobody should ask for by leaving an option out.
        """
        if options.minutes is not None and self.minutes is None:
            raise UserError(f"{self.name} has no time limit to set (--minutes): its fits end after a number of steps")
        if options.minutes is not None or self.minutes is None:
            return options.minutes
        records = [
            record
            for each in self.rows
            if self.one_time or row in (None, each.name)
            for record in read_records(options.out / self.name / each.name)
            if self.one_time or data in (None, record["data"]["name"])
        ]
        recorded = [minutes for minutes in map(minutes_of, records) if minutes is not None]
        return max(recorded, default=self.minutes)

    def known_recipes(self, minutes: float | None = None) -> dict[str, Recipe]:
        """Return the recipes by the names of their rows, those that cannot be read left out."""
        recipes = {}
        for row in self.rows:
            try:
                recipes[row.name] = row.load(minutes)
            except RecipeError:
                continue
        return recipes


def minutes_of(record: dict[str, Any]) -> float | None:
    """Return the time that a recorded fit had; None if it had its steps."""
    minutes: float | None = record["recipe"]["training"].get("max_minutes")
    return minutes


@dataclass(frozen=True)
class FitTask:
    """One fit, where its record goes, and what is kept besides."""

    experiment: str
    row: str
    recipe: Recipe
    data: str
    labels: int
    seed: int
    folder: Path
    data_dir: Path | None = None
    keeps_model: bool = False
    needs_model: bool = False  # for the figures: without it the fit is not done
    curves: bool = False
    measure: Measure | None = None

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.row} on {self.data}, seed {self.seed}"

    @property
    def minutes(self) -> float | None:
        """The time that it has; None if it ends after its steps."""
        return self.recipe.training.max_minutes

    @property
    def record_path(self) -> Path:
        """Where the record goes."""
        return self.folder / self.row / f"{self.data}-{self.seed}.json"

    @property
    def model_path(self) -> Path | None:
        """Where the model goes, if it is kept."""
        return self.record_path.with_suffix(".safetensors") if self.keeps_model else None

    @property
    def checkpoint_path(self) -> Path:
        """Where the fit is while it is running; another recipe has another place, so it never meets this one's."""
        recipe = hashlib.sha256(self.recipe.essence().model_dump_json().encode()).hexdigest()[:12]
        return self.record_path.with_suffix(f".{recipe}.checkpoint")

    def is_done(self) -> bool:
        """Return whether a record of this very recipe is there, and the model if it is needed."""
        if not self.record_path.is_file():
            return False
        if self.needs_model and self.model_path is not None and not self.model_path.is_file():
            return False
        return record_is_of(read_record(self.record_path), self.recipe)

    def clean(self) -> None:
        """Remove what a finished fit needs no more, and what earlier recipes left behind."""
        for kind in ("*.checkpoint*", "*.partial"):
            for path in self.record_path.parent.glob(f"{self.record_path.stem}.{kind}"):
                path.unlink(missing_ok=True)


def record_is_of(record: dict[str, Any], recipe: Recipe, any_time: bool = False) -> bool:
    """Return whether a record's model and training are a recipe's.

    Names, descriptions and how it was made faster may differ, and so may the time if ``any_time`` is set.
    """
    try:
        recorded = Recipe.model_validate(record["recipe"])  # fills in keys that are newer than the record
    except ValueError:
        return False
    if any_time:
        recorded, recipe = recorded.without_limit(), recipe.without_limit()
    return recorded.essence() == recipe.essence()


def plan(study: Study, options: Options) -> list[FitTask]:
    """Return all fits that were asked for, seed by seed, so that an early stop leaves all rows with as many seeds."""
    chosen = choose("recipe", [row.name for row in study.rows], options.recipes)
    data = choose("data set", study.data, options.data)
    rows = [row for row in study.rows if row.name in chosen]
    recipes = {(row.name, name): row.load(study.budget(options, row.name, name)) for row in rows for name in data}
    return [
        FitTask(
            study.name,
            row_name,
            recipe,
            data_name,
            study.labels,
            seed,
            options.out / study.name,
            options.data_dir,
            keeps_model=study.models == "all" or (study.models == "first" and seed == 0),
            needs_model=study.models == "first" and seed == 0,
            curves=study.curves,
            measure=study.measure,
        )
        for seed in range(options.splits or study.splits)
        for (row_name, data_name), recipe in recipes.items()
    ]
