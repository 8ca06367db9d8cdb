"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ModelArgument = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Run folder, model file, or the name of a shipped model.", show_default=False),
]
RowsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Rows: .csv, .tsv (also .gz), .parquet, .feather, .arrow, .npz or .npy, or a folder of images.",
        show_default=False,
    ),
]
RowsOutOption = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FILE", help="Where to write: .csv, .tsv, .parquet, .feather or .npz.", show_default=False
    ),
]
IdOption = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", help="Column of FILE to copy beside the answers (repeatable)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the data set's files are; if not given, SCNF_DATA_DIR and the usual places are searched.",
        show_default=False,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and the JSON object).")]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="CPU threads; all cores if not given.", show_default=False)
]


def use_threads(threads: int | None) -> None:
    """Limit torch to so many threads."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
