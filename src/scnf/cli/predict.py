"""``scnf predict``: labels, probabilities and densities for the rows of a file or the images of a folder."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scnf.cli.options import (
    IdOption,
    JsonOption,
    ModelArgument,
    RowsArgument,
    RowsOutOption,
    ThreadsOption,
    use_threads,
)
from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.files.new_rows import NewRows
    from scnf.files.predicting import PredictedRows
    from scnf.modelfile import TrainedModel

_USUAL_SHARE = 0.01


def predict(
    run: ModelArgument,
    file: RowsArgument,
    out: RowsOutOption,
    keep: IdOption = None,
    outliers: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Call rows outliers that are less likely than all but this share of the training rows; 0.01 if not "
            "given.",
            show_default=False,
        ),
    ] = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Predict the label, the probability of each class and the log-density of every row, and tell outliers.

    [dim]scnf predict runs/a new.csv --out predictions.parquet[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, print_json, print_notes, rows_table
    from scnf.cli.row_progress import RowProgress
    from scnf.cli.writing import check_output
    from scnf.files.new_rows import open_rows
    from scnf.files.predicting import predict_rows

    use_threads(threads)
    check_output(out, (".csv", ".tsv", ".parquet", ".feather", ".npz"))
    trained = load(run)
    lowest = _lowest_density(trained, outliers)
    rows = open_rows(file, trained, keep or ())
    seen = _Seen(trained.classes)
    with RowProgress() as progress:
        _write(out, trained, seen.counted(predict_rows(rows, lowest), progress, rows))
    notes = [*rows.notes.sentences(), *seen.sentences()]
    if json:
        print_json({**seen.told(), "out": str(out), "notes": notes})
    else:
        console().print(rows_table(["label", "rows"], seen.labels.items()))
        unusual = "" if lowest is None else f", {seen.outliers:,} of them outliers"
        console().print(f"{seen.rows:,} predictions are in {out}{unusual}.", soft_wrap=True)
    print_notes(notes)


def _lowest_density(trained: "TrainedModel", share: float | None) -> float | None:
    """Return the log-density below which rows are outliers; None for a model that cannot tell, if nobody asked."""
    if share is None:
        return trained.outlier_density(_USUAL_SHARE) if trained.densities else None
    if not 0 < share < 1:
        raise UserError(f"--outliers must lie between 0 and 1, got {share:g}")
    return trained.outlier_density(share)


class _Seen:
    """What is told of predictions when all of them are written."""

    def __init__(self, classes: tuple[str, ...]):
        self.labels: Counter[str] = Counter(dict.fromkeys(classes, 0))
        self.rows = self.outliers = self.unlabelled = 0

    def counted(
        self, batches: "Iterator[PredictedRows]", progress: "Callable[[int, int], None]", rows: "NewRows"
    ) -> "Iterator[PredictedRows]":
        """Yield batches as they come, and count them."""
        for batch in batches:
            self.rows += len(batch.names)
            known = [name for name in batch.names.tolist() if name is not None]
            self.labels.update(known)
            self.unlabelled += len(batch.names) - len(known)
            self.outliers += 0 if batch.outlier is None else int(batch.outlier.sum())
            if rows.rows is not None:
                progress(self.rows, rows.rows)
            yield batch

    def told(self) -> dict[str, object]:
        """Return the counts."""
        return {
            "rows": self.rows,
            "labels": dict(self.labels),
            "unlabelled": self.unlabelled,
            "outliers": self.outliers,
        }

    def sentences(self) -> list[str]:
        """Return what people should know of the rows."""
        if not self.unlabelled:
            return []
        return [
            f"{self.unlabelled:,} of {self.rows:,} rows have no label: they lie too far from all training rows to "
            "compute their density"
        ]


def _write(out: Path, trained: "TrainedModel", batches: "Iterator[PredictedRows]") -> None:
    from scnf.cli.writing import write_arrays, write_tables

    if out.suffix.lower() != ".npz":
        write_tables(out, (batch.table() for batch in batches))
        return
    write_arrays(out, (batch.arrays() for batch in batches), {"classes": list(trained.classes)})
