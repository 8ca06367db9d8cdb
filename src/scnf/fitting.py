"""From rows to a model that is ready to use: training, the temperature of its probabilities, and its usual densities.

The command line and the estimator both fit in this way: the same rows and the same seed give the same model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scnf.evaluation.calibration import calibrated_temperature, cross_fitted_answers
from scnf.evaluation.density import density_quantiles
from scnf.modelfile import TrainedModel
from scnf.recipes import Recipe
from scnf.tables import TableSchema
from scnf.training import Fitted, OnStep, TrainingData, fit

# Called with what is done besides training, when it begins.
OnStage = Callable[[str], None]


@dataclass(frozen=True)
class FittedModel:
    """A model that is ready to use, how its training went, and how it was calibrated.

    Of ``told`` labels that were hidden from quick fits ``right`` were told rightly: an estimate that needs no test
    rows. Both are 0 without calibration.
    """

    model: TrainedModel
    training: Fitted
    right: int = 0
    told: int = 0


def fit_model(
    recipe: Recipe,
    data: TrainingData,
    rows: Any,
    classes: tuple[str, ...],
    seed: int = 0,
    table: TableSchema | None = None,
    source: dict[str, Any] | None = None,
    calibrate: bool = True,
    on_stage: OnStage = lambda stage: None,
    on_calibration_step: OnStep = lambda *_: None,
    **options: Any,
) -> FittedModel:
    """Return a trained model and how its training went.

    Args:
        recipe: the model and its training.
        data: the rows as the model takes them, with their labels.
        rows: the same rows as people have them: a table, or an array.
        classes: names of the classes.
        seed: fixes all that is drawn.
        table: the columns, if the rows are those of a table.
        source: what the model's file says of the data.
        calibrate: whether a temperature for the probabilities is found on the labelled rows, by further short fits.
        on_stage: told what is done besides training.
        on_calibration_step: called after each step of those short fits; what it raises stops them.
        options: what ``scnf.fit`` takes besides: checkpoint, resume, on_step, devices and so on.
    """
    fitted = fit(recipe, data, seed, **options)
    model = TrainedModel(fitted.model, recipe, classes, data.levels, source or {}, table)
    right = told = 0
    if calibrate:
        on_stage("calibrating on labels hidden in turn")
        right, told = cross_fitted_answers(recipe, data, seed, on_calibration_step)
        model.temperature = calibrated_temperature(fitted.model, data, right, told)
    on_stage("measuring densities")
    model.densities = density_quantiles(model, rows)
    return FittedModel(model, fitted, right, told)
