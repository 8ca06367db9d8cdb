"""``scnf bench``: measure speed on this machine, and the classifier on scikit-learn's data."""

from pathlib import Path
from typing import Annotated

import typer

from scnf.cli.group import Command, Group
from scnf.cli.options import JsonOption

app = typer.Typer(cls=Group, no_args_is_help=True, help="Measure speed here, and how well few labels suffice.")


@app.command(cls=Command)
def overhead(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where overhead.json goes; nowhere if not given.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure what the training loop costs on top of the bare forward, backward and optimiser step.

    Let nothing else run meanwhile. [dim]scnf bench overhead --out results/bench[/dim]
    """
    from scnf.benchmarks.overhead import run
    from scnf.cli.output import console, pairs_table, print_json

    record = run(out)
    if json:
        print_json(record)
        return
    console().print(pairs_table({key.replace("_", " "): value for key, value in record.items()}))
    if out is not None:
        console().print(f"The record is {out / 'overhead.json'}.")


@app.command(cls=Command)
def speed(
    recipe: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Recipe to measure; may be given again. paper-mnist and mnist if not given."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where record, table and plots go; if not given, results/bench, and nowhere with --quick.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See that it runs; the numbers mean nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure how fast image recipes train and infer, against a bare loop of their convolutions.

    Let nothing else run meanwhile. [dim]scnf bench speed --recipe paper-mnist[/dim]
    """
    from scnf.benchmarks.speed import COLUMNS, run, table_rows
    from scnf.cli.output import console, print_json, rows_table
    from scnf.recipes import shipped_recipes

    screen = console(json)
    names = recipe or [name for name in ("paper-mnist", "mnist") if name in shipped_recipes()]
    folder = Path("results/bench") if out is None and not quick else out
    record = run(names, folder, quick, say=screen.print)
    if json:
        print_json(record)
        return
    screen.print(rows_table(["recipe", *(title for _, title in COLUMNS)], table_rows(record)))
    if record["peer_note"]:
        screen.print(record["peer_note"] + ".")
    if folder is not None:
        screen.print(f"Record, table and plots are in {folder}.")


@app.command(cls=Command)
def rows(
    rows: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Rows of a file; may be given again. 100,000, 1 and 10 million if not given."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where rows.json goes; nowhere if not given.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure the peak memory of predictions for files of more and more rows, which should stay the same.

    [dim]scnf bench rows --out results/bench[/dim]
    """
    from scnf.benchmarks.row_memory import ROWS, run
    from scnf.cli.output import console, print_json, rows_table

    screen = console(json)
    record = run(out, rows or ROWS, say=screen.print)
    if json:
        print_json(record)
        return
    titles = ["rows", "file, MiB", "peak, MiB", "seconds"]
    lines = [
        [f"{one['rows']:,}", *(f"{one[key]:.1f}" for key in ("file_mib", "peak_mib", "seconds"))]
        for one in record["predict"]
    ]
    screen.print(rows_table(titles, lines))
    if out is not None:
        screen.print(f"The record is {out / 'rows.json'}.")


@app.command(cls=Command)
def labels(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where labels/ with records, table and plots goes.")
    ] = Path("results"),
    splits: Annotated[int, typer.Option(min=1, metavar="N", help="Splits 0 … N−1, each a seed.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Fits at a time, a process of one thread each.")] = 2,
    render: Annotated[
        bool, typer.Option("--render", help="Fit nothing; make table and plots from the records.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure SCNFClassifier on digits, breast cancer and wine with few labels, beside scikit-learn's classifiers.

    A fit that has its record is not run again, unless the recipe that is chosen for it has changed.

    [dim]scnf bench labels --out results[/dim]
    """
    from scnf.benchmarks.few_labels import run
    from scnf.cli.output import console, print_json, rows_table

    screen = console(json)
    summary = run(out, splits, jobs, render, say=screen.print)
    if json:
        print_json(summary)
    else:
        screen.print(rows_table(summary["table"]["columns"], summary["table"]["rows"]))
        for path in summary["files"]:
            screen.print(f"wrote {path}", soft_wrap=True)
    for failure in summary["failures"]:
        screen.print(f"failed: {failure}", style="red")
    if summary["failures"]:
        raise typer.Exit(1)
