"""``scnf encode``: the latents of the rows of a file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

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
    from scnf.files.new_rows import Batch, NewRows


def encode(
    run: ModelArgument,
    file: RowsArgument,
    out: RowsOutOption,
    latent: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="z_f, which tells the label; z_h, which is meant not to; or all: z_aux and z_f side by side.",
        ),
    ] = "z_f",
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels that z_h is to hide; the predicted label if not given.",
            show_default=False,
        ),
    ] = None,
    keep: IdOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Write what the model makes of every row: a representation with the label in it, or without.

    [dim]scnf encode runs/a new.csv --latent z_h --out hidden.parquet[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, print_json, print_notes
    from scnf.cli.row_progress import RowProgress
    from scnf.cli.writing import TABLES, check_output, write_arrays, write_tables
    from scnf.files.new_rows import open_rows
    from scnf.files.predicting import with_kept
    from scnf.latents import check_latent
    from scnf.tables import Table

    use_threads(threads)
    check_latent(latent)
    if label is not None and latent != "z_h":
        raise UserError(f"--label is for --latent z_h; {latent} does not depend on a label")
    check_output(out, (*TABLES, ".npz"))
    trained = load(run)
    rows = open_rows(file, trained, keep or (), label)
    seen = {"rows": 0, "given": 0}
    with RowProgress() as progress:
        batches = _encoded(rows, latent, label is not None or file.is_dir(), seen, progress)
        if out.suffix.lower() == ".npz":
            write_arrays(
                out, (with_kept({k: _plain(v) for k, v in batch.kept.items()}, {"z": z}) for batch, z in batches)
            )
        else:
            columns = (with_kept(batch.kept, {f"z{i}": z[:, i] for i in range(z.shape[1])}) for batch, z in batches)
            write_tables(out, map(Table, columns))
    notes = rows.notes.sentences()
    print_notes(notes)
    told = {"rows": seen["rows"], "latent": latent, "out": str(out), "notes": notes}
    if latent == "z_h":
        told |= {"labels_given": seen["given"], "labels_predicted": seen["rows"] - seen["given"]}
    if json:
        print_json(told)
        return
    console().print(
        f"The {'latents' if latent == 'all' else latent} of {seen['rows']:,} rows went to {out}.", soft_wrap=True
    )
    if latent == "z_h":
        console().print(
            f"The label that was taken out was given for {seen['given']:,} rows and predicted for "
            f"{seen['rows'] - seen['given']:,}.",
            soft_wrap=True,
        )


def _encoded(
    rows: "NewRows", latent: Any, by_labels: bool, seen: dict[str, int], progress: Any
) -> "Iterator[tuple[Batch, Any]]":
    import torch

    from scnf.files.notes import UNKNOWN, Labels
    from scnf.latents import latents_of

    labels = Labels.of(rows.trained)
    for batch in rows.batches():
        y = None
        if latent == "z_h" and by_labels and batch.labels is not None:
            codes = labels.codes(batch.labels)
            if (codes == UNKNOWN).any():
                wrong = batch.labels[codes == UNKNOWN][0]
                raise UserError(f"{rows.path}: the model does not know the label {wrong!r}; it has {labels.listed()}")
            y = torch.from_numpy(codes)
            seen["given"] += int((codes >= 0).sum())
        z = latents_of(rows.trained, batch.x, latent, y).float().numpy()
        seen["rows"] += len(z)
        if rows.rows is not None:
            progress(seen["rows"], rows.rows)
        yield batch, z


def _plain(values: Any) -> Any:
    return values.astype(str) if values.dtype == object else values
