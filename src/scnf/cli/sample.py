"""``scnf sample``: draw rows or images from a trained model."""

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
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Where to write: .csv, .tsv, .parquet, .feather or .npz, or a folder for images (.png).",
            show_default=False,
        ),
    ],
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
    """Draw new rows and their labels from a trained model, in the columns and types of the data.

    [dim]scnf sample runs/a -n 100 --label melon --out samples.csv[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, print_json
    from scnf.cli.writing import TABLES, check_output

    if not math.isfinite(temperature):  # NaN slips through the option's own limit
        raise UserError(f"--temperature must be a finite number, 0 or more, got {temperature}")
    use_threads(threads)
    trained = load(run)
    may_be_folder = len(trained.model.shape) == 3 and trained.model.shape[0] in (1, 3)
    if not (may_be_folder and not out.suffix and not out.exists()):
        check_output(out, (*TABLES, ".npz"))
    _write(out, trained, trained.sample_batches(n, label, temperature, seed))
    if json:
        print_json({"rows": n, "label": label, "temperature": temperature, "seed": seed, "out": str(out)})
    else:
        console().print(f"{n:,} samples are in {out}.", soft_wrap=True)


def _write(out: Path, trained: "TrainedModel", batches: "Iterator[tuple[Any, np.ndarray]]") -> None:
    from scnf.cli.writing import write_arrays, write_tables
    from scnf.files.sampling import sampled_array, sampled_table, write_image_folder

    if not out.suffix:
        write_image_folder(out, trained, batches)
    elif out.suffix.lower() != ".npz":
        write_tables(out, (sampled_table(trained, x, names) for x, names in batches))
    else:
        write_arrays(out, ({"x": sampled_array(trained, x), "label": names} for x, names in batches))
