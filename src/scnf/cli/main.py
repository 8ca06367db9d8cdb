"""The command line: every command is one file, and what is heavy is imported when a command runs."""

from typing import Annotated

import typer

from scnf import __version__
from scnf.cli import bench, data
from scnf.cli.demo import demo
from scnf.cli.encode import encode
from scnf.cli.evaluate import evaluate
from scnf.cli.export import export
from scnf.cli.fit import fit
from scnf.cli.group import Command, Root
from scnf.cli.info import info
from scnf.cli.predict import predict
from scnf.cli.report import report
from scnf.cli.reproduce import reproduce
from scnf.cli.sample import sample
from scnf.cli.ship import ship

app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"scnf {__version__}")
        raise typer.Exit


@app.callback()
def scnf(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Semi-conditional normalizing flows: one exact generative model from few labels and many unlabelled rows."""


app.command(cls=Command)(fit)
app.command(cls=Command)(evaluate)
app.command(cls=Command)(predict)
app.command(cls=Command)(sample)
app.command(cls=Command)(encode)
app.command(cls=Command)(export)
app.command(cls=Command)(info)
app.command(cls=Command)(report)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(demo)
app.command(cls=Command, hidden=True)(ship)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    app(prog_name="scnf")
