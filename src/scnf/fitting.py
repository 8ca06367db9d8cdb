"""From rows to a model that is ready to use: training, and how dense the rows usually are."""

from collections.abc import Callable
from typing import Any

from scnf.evaluation.density import density_quantiles
from scnf.modelfile import TrainedModel
from scnf.recipes import Recipe
from scnf.tables import TableSchema
from scnf.training import Fitted, TrainingData, fit

# Called with what is done besides training, when it begins.
OnStage = Callable[[str], None]


def fit_model(
    recipe: Recipe,
    data: TrainingData,
    rows: Any,
    classes: tuple[str, ...],
    seed: int = 0,
    table: TableSchema | None = None,
    told: dict[str, Any] | None = None,
    on_stage: OnStage = lambda stage: None,
    **options: Any,
) -> tuple[TrainedModel, Fitted]:
    """Return a trained model and how its training went.

    Args:
        recipe: the model and its training.
        data: the rows as the model takes them, with their labels.
        rows: the same rows as people have them: a table, or an array.
        classes: names of the classes.
        seed: fixes all that is drawn.
        table: the columns, if the rows are those of a table.
        told: what the model's file says of the data.
        on_stage: told what is done besides training.
        options: what ``scnf.fit`` takes besides: checkpoint, resume, on_step, devices and so on.
    """
    fitted = fit(recipe, data, seed, **options)
    trained = TrainedModel(fitted.model, recipe, classes, data.levels, told or {}, table)
    on_stage("looking at densities")
    trained.densities = density_quantiles(trained, rows)
    return trained, fitted
