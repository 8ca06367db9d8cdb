"""``scnf evaluate``: the metrics of a trained model, on its own test rows, on a file or on a data set."""

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import DataDirOption, JsonOption, ModelArgument, ThreadsOption, use_threads
from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.modelfile import TrainedModel


def evaluate(
    run: ModelArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Rows to test on; the run's own test rows if not given.", show_default=False
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of labels in FILE; as in training if not given.", show_default=False
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Data set to test on; the one it was trained on if not given."),
    ] = None,
    data_dir: DataDirOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Report the test error, likelihood and calibration of a trained model.

    [dim]scnf evaluate runs/a new.csv --target label[/dim]

    [dim]scnf evaluate runs/m7 --json[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, metrics_table, print_json
    from scnf.evaluation.records import finite
    from scnf.evaluation.trained import describe

    use_threads(threads)
    if file is not None and data is not None:
        raise UserError("FILE and --data cannot go together")
    if file is None and target is not None:
        raise UserError("--target names a column of FILE, and no FILE is given")
    trained = load(run)
    if file is not None:
        measured = _on_file(trained, file, target)
    elif data is None and "rows" in trained.data:
        measured = _on_own_test_rows(trained, run)
    else:
        measured = _on_named(trained, data, data_dir)
    metrics = finite(
        {**describe(trained), **measured, "seconds": _training_seconds(run), "model": str(run)},
    )
    if json:
        print_json(metrics)
    else:
        console().print(metrics_table(metrics))


def _on_file(trained: "TrainedModel", file: Path, target: str | None) -> dict[str, Any]:
    from scnf.cli.output import print_notes
    from scnf.cli.row_progress import RowProgress
    from scnf.files.measuring import measure_rows
    from scnf.files.new_rows import label_column, open_rows

    rows = open_rows(file, trained, (), label_column(file, trained, target))
    with RowProgress() as progress:
        measured = measure_rows(rows, progress)
    print_notes(rows.notes.sentences())
    return {**measured, "test_data": file.name}


def _on_own_test_rows(trained: "TrainedModel", run: Path) -> dict[str, Any]:
    from scnf.files.data import read_files
    from scnf.runs.own import is_file_run, stored_source

    if not run.is_dir() or not is_file_run(run):
        raise UserError(f"{run} does not tell where its test rows are; name a file of rows with labels")
    source = stored_source(run)
    if source.test is None and source.test_share is None:
        raise UserError(f"{run} kept no rows for a test; name a file of rows with labels that it was not trained on")
    for mark in source.marks():
        mark.check()
    return {**read_files(source).measure(trained), "test_data": source.name}


def _on_named(trained: "TrainedModel", data: str | None, data_dir: Path | None) -> dict[str, Any]:
    from scnf.cli.download_progress import DownloadProgress
    from scnf.cli.row_progress import RowProgress
    from scnf.evaluation.trained import evaluate_on, split_for

    with DownloadProgress() as progress:
        split = split_for(trained, data, data_dir, progress)
    with RowProgress() as progress:
        measured = evaluate_on(trained, split, progress)
    return {**measured, "test_data": split.name, "test_rows": len(split.x_test)}


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
