"""``scnf reproduce``: a table or figure of the paper, from training to the page."""

from pathlib import Path
from typing import Annotated, Any

import typer

from scnf.cli.options import DataDirOption, JsonOption
from scnf.errors import UserError
from scnf.experiments import EXPERIMENTS, Options, load_experiment

ALL = "all"


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def reproduce(
    name: Annotated[
        str, typer.Argument(help=f"What to reproduce: all, or {', '.join(EXPERIMENTS)}.", show_default=False)
    ],
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits",
            "--seeds",
            min=1,
            metavar="N",
            help="Splits 0 … N−1, each a seed; if not given, as many as the experiment has (--dry-run tells the runs).",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="Time for each fit that has a limit; if not given, that of the records or else the experiment's own.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Fits at a time, a process of one thread each.")] = 2,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where records, tables and figures go.")] = Path(
        "results"
    ),
    recipes: Annotated[
        str | None, typer.Option(metavar="A,B", help="Train these rows only; all if not given.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Train on these data sets only; all if not given, but of systems not mnist."),
    ] = None,
    data_dir: DataDirOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="obfuscation, appendix-a, ood: look at this trained model, a run folder, a file or a shipped name.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="fairness: protected values known; if not given, 200 and then all."),
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Train nothing; make tables and figures from the records.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Train and write nothing; tell what is recorded, stale and missing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train all that a table of the paper needs, and write the table and its figures.

    A fit that has its record is not run again, unless its recipe or its time has changed: a stopped run goes on where
    it was.

    [dim]scnf reproduce table2 --minutes 30 --splits 3[/dim]
    [dim]scnf reproduce all --dry-run[/dim]
    """
    from scnf.cli.output import console, print_json, rows_table
    from scnf.experiments.everything import COLUMNS, run_all, status_rows, statuses, write_index

    options = Options(splits, jobs, out, _names(recipes), _names(data), render, minutes, data_dir, model, labels)
    if name == ALL:
        _refuse_for_all(
            {"--minutes": minutes, "--recipes": recipes, "--data": data, "--model": model, "--labels": labels}
        )
    else:
        _refuse_what_it_lacks(name, {"--model": model, "--labels": labels})
    if dry_run:
        if model is not None:
            raise UserError("--dry-run tells of what is planned, and a model that is given is looked at at once")
        items = statuses(list(EXPERIMENTS) if name == ALL else [name], options)
        if json:
            print_json({"items": items})
        else:
            console().print(rows_table(COLUMNS, status_rows(items)))
        return
    summary = run_all(options) if name == ALL else load_experiment(name).run(options)
    if out.is_dir():
        summary = {**summary, "files": [*summary["files"], str(write_index(out))]}
    if json:
        print_json(summary)
    screen = console(json)
    screen.print(rows_table(summary["table"]["columns"], summary["table"]["rows"]))
    for line in summary.get("verdicts", ()):
        screen.print(line)
    for path in summary["files"]:
        screen.print(f"wrote {path}", soft_wrap=True)
    if summary["failures"]:
        raise typer.Exit(1)


def _refuse_what_it_lacks(name: str, given: dict[str, Any]) -> None:
    """Refuse options that an experiment would pass over."""
    for option, value in given.items():
        takers = [each for each, item in EXPERIMENTS.items() if option in item.takes]
        if value is not None and name in EXPERIMENTS and name not in takers:
            raise UserError(f"{option} is for {', '.join(takers)}; {name} has no use for it")


def _refuse_for_all(given: dict[str, Any]) -> None:
    """Refuse what means something else in each experiment."""
    for option, value in given.items():
        if value is not None:
            raise UserError(f"{option} is for one experiment at a time; all runs each as it is planned")
