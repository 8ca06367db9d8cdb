"""From what the user names, a run folder, a model's file or a shipped model, to what a report is made from."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scnf.data import SOURCES
from scnf.data.published import Report, tell_nobody
from scnf.errors import UserError
from scnf.evaluation.trained import split_for
from scnf.files.data import FileData, Rows, read_files
from scnf.files.new_rows import label_column, open_rows
from scnf.files.notes import Labels
from scnf.files.source import FileMark
from scnf.jsonfile import read_json
from scnf.modelfile import MODEL_FILE, TrainedModel, load
from scnf.reporting.material import Material, RowSet, numbered
from scnf.runs.folder import HISTORY_FILE, METRICS_FILE, RECIPE_FILE, SPLIT_FILE
from scnf.runs.own import is_file_run, stored_source
from scnf.runs.repeating import repeat_command
from scnf.tables import Table

# What a run's metrics tell of its own test rows, and of no others.
_OF_TEST_ROWS = {
    "test_rows",
    "test_labels",
    "unknown_labels",
    "error",
    "nll",
    "bits_per_dim",
    "ece",
    "ece_uncalibrated",
}


@dataclass(frozen=True)
class Places:
    """Where the user says that rows are: those of training (a file, a folder or the name of a data set), and others."""

    data: Path | None = None
    test: Path | None = None
    target: str | None = None
    data_dir: Path | None = None


def open_material(run: Path, places: Places, on_download: Report = tell_nobody) -> Material:
    """Open a run; what the user named must be right, what the run itself names may be gone."""
    if run.is_dir() and (run / RECIPE_FILE).is_file() and not (run / MODEL_FILE).is_file():
        raise UserError(f"{run} is not finished; `scnf fit --out {run} --resume` goes on with it")
    trained = load(run)
    in_folder = (run / RECIPE_FILE).is_file() and (run / SPLIT_FILE).is_file()
    found = Material(str(run), trained, str(trained.data.get("name") or ""))
    if in_folder:
        found = replace(
            found,
            history=_records(run / HISTORY_FILE),
            metrics=read_json(run / METRICS_FILE) if (run / METRICS_FILE).is_file() else {},
            repeat=repeat_command(trained, run),
        )
    if in_folder and is_file_run(run):
        found = _with_run_files(found, run, places)
    elif places.data is not None and str(places.data) not in SOURCES:
        found = _with_new_files(found, places.data, places.target)
    elif places.data is not None or trained.data.get("name") in SOURCES:
        found = _with_split(found, places, on_download)
    else:
        found = replace(
            found,
            no_train="The model's file does not tell where its training rows are (--data FILE names them).",
            no_test="The model's file does not tell of test rows (--test FILE names some with labels).",
        )
    if places.test is not None:
        test = _new_rows("test", found.trained, places.test, places.target)
        found = replace(_without_test_metrics(found), test=test, no_test="")
    return found


def _without_test_metrics(found: Material) -> Material:
    return replace(found, metrics={key: value for key, value in found.metrics.items() if key not in _OF_TEST_ROWS})


def _with_run_files(found: Material, run: Path, places: Places) -> Material:
    """Add the rows of a run on files; a test file may be gone alone."""
    source, no_test = stored_source(run), ""
    if places.data is not None:
        source = source.model_copy(update={"rows": _same(run, source.rows, places.data)})
    else:
        try:
            source.rows.check()
        except UserError as error:
            gone = f"{_sentence(error)} (--data FILE names the data where they are now.)"
            return replace(found, no_train=gone, no_test=gone)
    if source.test is not None:
        try:
            source.test.check()
        except UserError as error:
            source, no_test = source.model_copy(update={"test": None}), f"{_sentence(error)} (--test FILE names it.)"
    elif source.test_share is None:
        no_test = (
            "The run kept no rows for a test; scnf fit --test-share 0.2 keeps some, and --test FILE names others "
            "for this page."
        )
    data = read_files(source)
    train = _rows_of("training", data, data.train, data.codes, source.rows)
    test = None
    if data.test is not None:
        codes = Labels.of(found.trained).codes(data.test.labels)
        test = _rows_of("test", data, data.test, codes, source.test or source.rows)
    return replace(found, train=train, test=test, no_test=no_test)


def _rows_of(kind: str, data: FileData, rows: Rows, codes: np.ndarray, mark: FileMark) -> RowSet:
    folder = mark.place if data.source.kind == "images" else None
    return numbered(kind, rows.x, codes, folder, rows.numbers)


def _same(run: Path, mark: FileMark, place: Path) -> FileMark:
    now = FileMark.of(place)
    if not mark.same_content(now):
        raise UserError(f"{run} was started with {mark.place}, and {place} is not the same")
    return now


def _with_split(found: Material, places: Places, on_download: Report) -> Material:
    """Add the rows of a data set that has a name."""
    asked = None if places.data is None else str(places.data)
    try:
        split = split_for(found.trained, asked, places.data_dir, on_download)
    except (UserError, OSError) as error:
        if asked is not None or places.data_dir is not None:
            raise
        return replace(found, no_train=_sentence(error), no_test=_sentence(error))
    if split.name != found.trained.data.get("name"):
        found = _without_test_metrics(found)
    return replace(
        found,
        data_name=split.name,
        train=numbered("training", split.x_train, split.y_train),
        test=numbered("test", split.x_test, split.y_test),
        split=split if split.x_train.shape[1:] == (2,) else None,
    )


def _with_new_files(found: Material, path: Path, target: str | None) -> Material:
    """Add rows of a file that a model without a run folder is said to have learned from."""
    no_test = "The model's file does not tell which rows it was not trained on (--test FILE names some with labels)."
    train = _new_rows("training", found.trained, path, target)
    return replace(found, data_name=found.data_name or path.name, train=train, no_test=no_test)


def _new_rows(kind: str, trained: TrainedModel, path: Path, target: str | None) -> RowSet:
    if not path.exists():
        raise UserError(f"{path} does not exist")
    labels = Labels.of(trained)
    batches = list(open_rows(path, trained, (), label_column(path, trained, target)).batches())
    codes = [labels.codes(batch.labels) if batch.labels is not None else np.empty(0, int) for batch in batches]
    return numbered(kind, _joined([batch.x for batch in batches]), np.concatenate(codes), path)


def _joined(parts: list[Any]) -> Any:
    """Return tables or arrays below one another."""
    if not isinstance(parts[0], Table):
        return np.concatenate(parts)
    return Table(
        {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].names}, parts[0].named
    )


def _records(path: Path) -> list[dict[str, Any]]:
    history = read_json(path).get("history", []) if path.is_file() else []
    if not isinstance(history, list) or not all(isinstance(point, dict) for point in history):
        raise UserError(f"{path} is damaged: its history should be a list of records")
    return history


def _sentence(error: Exception) -> str:
    return f"The rows cannot be looked at: {str(error).rstrip('.')}."
