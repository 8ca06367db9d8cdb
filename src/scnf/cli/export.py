"""``scnf export``: the classifier, behind the encoding of tables, in a file that runs without scnf."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from scnf.cli.options import JsonOption, ModelArgument
from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.export import Format


def export(
    run: ModelArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: .pt2 or .onnx.", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="torch|onnx",
            help="torch.export or ONNX; by the ending if not given.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the classifier to a file for torch.export or ONNX, and check it against the model.

    It takes rows as the model does, [bold]x[/bold], and gives [bold]probabilities[/bold] and [bold]log_density[/bold].
    Images go in as whole numbers. A table's columns are not part of it: rows go in encoded, which takes scnf (in
    Python: load(run).encoder.encode), and the log-density is that of the encoded row.

    [dim]scnf export runs/a --out model.onnx[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, print_json
    from scnf.cli.writing import check_output
    from scnf.export import ENDINGS, export_classifier

    if kind is None:
        kind = next((name for name, ending in ENDINGS.items() if ending == out.suffix.lower()), None)
    elif kind not in ENDINGS:
        raise UserError(f"--format must be torch or onnx, got {kind!r}")
    check_output(out, [ending for name, ending in ENDINGS.items() if kind in (name, None)])
    difference = export_classifier(load(run), out, cast("Format", kind))
    told = {"out": str(out), "format": kind, "bytes": out.stat().st_size, **difference._asdict()}
    if json:
        print_json(told)
        return
    console().print(f"The classifier is in {out} ({told['bytes'] / 1e6:.2f} MB).", soft_wrap=True)
    console().print(
        f"On rows like the model's samples it differs from the model by {difference.probability:.1g} in probability "
        f"and {100 * difference.log_density:.1g} % in log-density at the most.",
        soft_wrap=True,
    )
