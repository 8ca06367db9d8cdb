"""``scnf evaluate``: repeat the metrics of a trained model from disk."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from scnf.cli.options import DataDirOption, JsonOption, ModelArgument, ThreadsOption, use_threads
from scnf.errors import UserError


def evaluate(
    run: ModelArgument,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Data set to test on; the one it was trained on if not given."),
    ] = None,
    data_dir: DataDirOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Report the test error, likelihood and calibration of a trained model.

    [dim]scnf evaluate runs/m7 --json[/dim]
    """
    from scnf import load
    from scnf.cli.download_progress import DownloadProgress
    from scnf.cli.output import console, metrics_table, print_json
    from scnf.cli.row_progress import RowProgress
    from scnf.evaluation.records import finite
    from scnf.evaluation.trained import describe, evaluate_on, split_for

    use_threads(threads)
    trained = load(run)
    with DownloadProgress() as progress:
        split = split_for(trained, data, data_dir, progress)
    with RowProgress() as progress:
        measured = evaluate_on(trained, split, progress)
    metrics = finite(
        {
            **describe(trained),
            **measured,
            "seconds": _training_seconds(run),
            "test_data": split.name,
            "test_rows": len(split.x_test),
            "model": str(run),
        }
    )
    if json:
        print_json(metrics)
    else:
        console().print(metrics_table(metrics))


def _training_seconds(run: Path) -> float | None:
    """Return how long training took, which the run folder tells; None for a model that has left its folder."""
    from scnf.modelfile import MODEL_FILE, find_model
    from scnf.runs import METRICS_FILE

    model = find_model(run)
    path = model.with_name(METRICS_FILE)
    if model.name != MODEL_FILE or not path.is_file():
        return None
    try:
        return float(jsonlib.loads(path.read_text(encoding="utf-8"))["seconds"])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: it should be the JSON object with seconds that fit wrote") from error
