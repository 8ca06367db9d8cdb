"""``scnf report``: one page with all that can be told of a run."""

from pathlib import Path
from typing import Annotated

import typer

from scnf.cli.options import DataDirOption, JsonOption, ModelArgument, QuietOption, ThreadsOption, use_threads


def report(
    run: ModelArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: .html.", show_default=False)],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Where the rows it learned from are now, a file, a folder or a data set, if the run does not tell.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rows to test on, with labels; the run's own if not given.", show_default=False
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of labels in these files; as in training if not given.", show_default=False
        ),
    ] = None,
    data_dir: DataDirOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write one page about a run: how good it is, which rows are odd, what to label next, how to repeat it.

    The page stands alone: it asks for nothing from outside. Of large data it looks at an excerpt, and says so.

    [dim]scnf report runs/a --out report.html[/dim]
    """
    from scnf.cli.output import console, print_json
    from scnf.cli.writing import check_output
    from scnf.reporting.opening import Places, open_material
    from scnf.reporting.run_report import make_report
    from scnf.wholefile import whole

    use_threads(threads)
    check_output(out, [".html"])
    stages = console(json=True, quiet=quiet)
    with stages.status("opening the run") as status:

        def on_stage(what: str) -> None:
            status.update(what)
            if not stages.is_terminal:
                stages.print(what)

        def on_download(file: str, done: int, total: int) -> None:
            status.update(f"downloading {file}: {done / 1e6:.1f} of {total / 1e6:.1f} MB")

        material = open_material(run, Places(data, test, target, data_dir), on_download)
        made = make_report(material, on_stage)
    with whole(out) as temporary:
        temporary.write_text(made.page, encoding="utf-8")
    if json:
        print_json({"out": str(out), "bytes": out.stat().st_size, "model": str(run), **made.numbers})
    else:
        console(quiet=quiet).print(f"The report is in {out} ({out.stat().st_size / 1e6:.1f} MB).", soft_wrap=True)
