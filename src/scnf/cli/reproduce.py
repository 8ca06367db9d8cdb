"""``scnf reproduce``: a table or figure of the paper, from training to the page."""

from pathlib import Path
from typing import Annotated

import typer

from scnf.cli.options import JsonOption
from scnf.experiments import EXPERIMENTS, Options, load_experiment


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def reproduce(
    name: Annotated[str, typer.Argument(help=f"What to reproduce: {', '.join(EXPERIMENTS)}.", show_default=False)],
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds 0 … N−1, each a new split and start.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Fits at a time, a process of one thread each.")] = 2,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where records, tables and figures go.")] = Path(
        "results"
    ),
    recipes: Annotated[
        str | None, typer.Option(metavar="A,B", help="Train these rows only; all if not given.", show_default=False)
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="A,B", help="Train on these data sets only; all if not given.")
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Train nothing; make tables and figures from the records.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train all that a table of the paper needs, and write the table and its figures.

    A fit that has its record is not run again, unless its recipe has changed: a stopped run goes on where it was.

    [dim]scnf reproduce table1 --seeds 20 --jobs 2[/dim]
    """
    from scnf.cli.output import console, print_json

    summary = load_experiment(name).run(Options(seeds, jobs, out, _names(recipes), _names(data), render))
    if json:
        print_json(summary)
    screen = console(json)
    for path in summary["files"]:
        screen.print(f"wrote {path}", soft_wrap=True)
    if summary["failures"]:
        raise typer.Exit(1)
