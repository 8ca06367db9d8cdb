"""``scnf sample``: draw rows from a trained model."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import JsonOption, ModelArgument, ThreadsOption, use_threads
from scnf.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from scnf.modelfile import TrainedModel

_BATCH = 2048


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

    use_threads(threads)
    check_output(out)
    trained = load(run)
    if seed >= 2**32:
        raise UserError(f"--seed must lie between 0 and {2**32 - 1}, got {seed}")
    if label is not None and label not in trained.classes:
        raise UserError(f"unknown label {label!r}; the model has {', '.join(trained.classes)}")
    _write(out, trained, samples(trained, n, label, temperature, seed))
    if json:
        print_json({"rows": n, "label": label, "temperature": temperature, "seed": seed, "out": str(out)})
    else:
        console().print(f"{n:,} samples are in {out}.")


def samples(
    trained: "TrainedModel", n: int, label: str | None, temperature: float, seed: int
) -> "Iterator[tuple[np.ndarray, np.ndarray]]":
    """Yield rows in the data's own units and the index of their labels, batch by batch."""
    import torch

    y = None if label is None else trained.classes.index(label)
    for batch, start in enumerate(range(0, n, _BATCH)):
        with torch.random.fork_rng():
            torch.manual_seed(seed * 1_000_003 + batch)
            x, labels = trained.model.sample(min(_BATCH, n - start), y, temperature)
        if trained.levels is not None:
            x = (x * trained.levels).floor().clamp(0, trained.levels - 1).to(torch.int32)
        yield x.numpy(), labels.numpy()


def _write(out: Path, trained: "TrainedModel", batches: "Iterator[tuple[np.ndarray, np.ndarray]]") -> None:
    import numpy as np

    from scnf.cli.output import write_arrays, write_csv

    if out.suffix.lower() == ".csv":
        header = [*(f"x{i + 1}" for i in range(trained.model.dimensions)), "label"]
        write_csv(out, header, (row for x, labels in batches for row in _rows(x, labels, trained.classes)))
        return
    x, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    write_arrays(out, {"x": x, "label": np.array(trained.classes)[labels]})


def _rows(x: "np.ndarray", labels: "np.ndarray", classes: tuple[str, ...]) -> Iterator[list[Any]]:
    for row, k in zip(x.reshape(len(x), -1), labels, strict=True):
        yield [*(f"{value:.7g}" for value in row), classes[k]]
