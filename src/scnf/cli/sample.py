"""``scnf sample``: draw rows from a trained model."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import JsonOption, ModelArgument, ThreadsOption, use_threads
from scnf.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from scnf.modelfile import TrainedModel


def sample(
    run: ModelArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: .csv or .npz.", show_default=False)],
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Number of rows.")] = 100,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Class to draw from; from p(y) if not given.", show_default=False),
    ] = None,
    temperature: Annotated[
        float, typer.Option(min=0, metavar="T", help="Scales the noise: below 1 gives more typical rows.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Same seed, same rows.")] = 0,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Draw new rows and their labels from a trained model.

    [dim]scnf sample runs/m7 -n 100 --label upper --out samples.csv[/dim]
    """
    from scnf import load
    from scnf.cli.output import check_output, console, print_json

    if not math.isfinite(temperature):  # NaN slips through the option's own limit
        raise UserError(f"--temperature must be a finite number, 0 or more, got {temperature}")
    use_threads(threads)
    check_output(out)
    trained = load(run)
    _write(out, trained, trained.sample_batches(n, label, temperature, seed))
    if json:
        print_json({"rows": n, "label": label, "temperature": temperature, "seed": seed, "out": str(out)})
    else:
        console().print(f"{n:,} samples are in {out}.")


def _write(out: Path, trained: "TrainedModel", batches: "Iterator[tuple[np.ndarray, np.ndarray]]") -> None:
    import numpy as np

    from scnf.cli.output import write_arrays, write_csv

    if out.suffix.lower() == ".csv":
        header = [*(f"x{i + 1}" for i in range(trained.model.dimensions)), "label"]
        write_csv(out, header, (row for x, labels in batches for row in _rows(x, labels)))
        return
    x, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    write_arrays(out, {"x": x, "label": labels})


def _rows(x: "np.ndarray", labels: "np.ndarray") -> Iterator[list[Any]]:
    for row, label in zip(x.reshape(len(x), -1), labels, strict=True):
        yield [*(f"{value:.7g}" for value in row), label]
