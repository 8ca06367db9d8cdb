"""``scnf predict``: labels, probabilities and densities for the rows of a file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from scnf.cli.options import JsonOption, ModelArgument, ThreadsOption, use_threads

if TYPE_CHECKING:
    import numpy as np

    from scnf.modelfile import TrainedModel


class Predictions(NamedTuple):
    """What a model says of a batch: the index of the label, the probability of each class, and log p(x)."""

    label: "np.ndarray"
    probabilities: "np.ndarray"
    log_density: "np.ndarray"


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

    use_threads(threads)
    check_output(out)
    trained = load(run)
    counts: Counter[str] = Counter(dict.fromkeys(trained.classes, 0))
    _write(out, trained, _counted(predictions(trained, file), trained.classes, counts))
    if json:
        print_json({"rows": counts.total(), "labels": dict(counts), "out": str(out)})
    else:
        console().print(rows_table(["label", "rows"], counts.items()))
        console().print(f"{counts.total():,} predictions are in {out}.")


def predictions(trained: "TrainedModel", file: Path) -> Iterator[Predictions]:
    """Yield predictions for the rows of a file, batch by batch."""
    import torch

    from scnf.data.files import RowFormat, read_rows
    from scnf.evaluation.metrics import log_joint_of

    model = trained.model
    for batch, rows in enumerate(read_rows(file, RowFormat(model.shape, trained.levels))):
        # Every batch is dequantised with noise of its own; the first as in ``scnf evaluate``.
        log_joint = log_joint_of(model, torch.from_numpy(rows), trained.levels, seed=batch)
        label, log_density = log_joint.argmax(1), log_joint.logsumexp(1)
        yield Predictions(label.numpy(), log_joint.softmax(1).numpy(), log_density.numpy())


def _counted(batches: Iterator[Predictions], classes: tuple[str, ...], counts: Counter[str]) -> Iterator[Predictions]:
    for batch in batches:
        counts.update(classes[k] for k in batch.label)
        yield batch


def _write(out: Path, trained: "TrainedModel", batches: Iterator[Predictions]) -> None:
    import numpy as np

    from scnf.cli.output import write_arrays, write_csv

    classes = trained.classes
    if out.suffix.lower() == ".csv":
        header = ["label", *(f"probability_{name}" for name in classes), "log_density"]
        write_csv(out, header, (row for batch in batches for row in _rows(batch, classes)))
        return
    label, probabilities, log_density = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    arrays = {"label": np.array(classes)[label], "probabilities": probabilities, "log_density": log_density}
    write_arrays(out, {**arrays, "classes": np.array(classes)})


def _rows(batch: Predictions, classes: tuple[str, ...]) -> Iterator[list[Any]]:
    for k, probabilities, log_density in zip(*batch, strict=True):
        yield [classes[k], *(f"{p:.7g}" for p in probabilities), f"{log_density:.7g}"]
