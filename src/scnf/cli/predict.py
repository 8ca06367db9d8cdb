"""``scnf predict``: labels, probabilities and densities for the rows of a file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import JsonOption, ModelArgument, ThreadsOption, use_threads

if TYPE_CHECKING:
    from scnf.modelfile import Prediction

_NO_LABEL = ""


def predict(
    run: ModelArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Rows to predict: .npy, .npz or .csv.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: .csv or .npz.", show_default=False)],
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Predict the label, the probability of each class and the log-density of every row of a file.

    [dim]scnf predict runs/m7 new.csv --out predictions.csv[/dim]
    """
    from scnf import load
    from scnf.cli.output import check_output, console, print_json, rows_table
    from scnf.data.files import read_rows

    use_threads(threads)
    check_output(out)
    trained = load(run)
    counts: Counter[str] = Counter(dict.fromkeys(trained.classes, 0))
    predictions = trained.predict_batches(read_rows(file, trained.row_format))
    _write(out, trained.classes, _counted(map(_without_guesses, predictions), counts))
    rows, unlabelled = counts.total(), counts.pop(_NO_LABEL, 0)
    if json:
        print_json({"rows": rows, "labels": dict(counts), "unlabelled": unlabelled, "out": str(out)})
    else:
        console().print(rows_table(["label", "rows"], counts.items()))
        console().print(f"{rows:,} predictions are in {out}.")
    if unlabelled:
        typer.echo(
            f"{unlabelled:,} of {rows:,} rows have no label: they lie too far from all training rows to compute their "
            "density.",
            err=True,
        )


def _without_guesses(batch: "Prediction") -> "Prediction":
    """Leave the label empty where density or probabilities overflowed: the first class would stand there by chance."""
    import numpy as np

    known = np.isfinite(batch.log_density) & np.isfinite(batch.probabilities).all(1)
    return batch._replace(label=np.where(known, batch.label, _NO_LABEL))


def _counted(batches: "Iterator[Prediction]", counts: Counter[str]) -> "Iterator[Prediction]":
    for batch in batches:
        counts.update(batch.label.tolist())
        yield batch


def _write(out: Path, classes: tuple[str, ...], batches: "Iterator[Prediction]") -> None:
    import numpy as np

    from scnf.cli.output import write_arrays, write_csv

    if out.suffix.lower() == ".csv":
        header = ["label", *(f"probability_{name}" for name in classes), "log_density"]
        write_csv(out, header, (row for batch in batches for row in _rows(batch)))
        return
    label, probabilities, log_density = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    arrays = {"label": label, "probabilities": probabilities, "log_density": log_density}
    write_arrays(out, {**arrays, "classes": np.array(classes)})


def _rows(batch: "Prediction") -> Iterator[list[Any]]:
    for label, probabilities, log_density in zip(*batch, strict=True):
        yield [label, *(f"{p:.7g}" for p in probabilities), f"{log_density:.7g}"]
