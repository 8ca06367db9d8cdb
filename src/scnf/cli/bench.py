"""``scnf bench``: measure speed on this machine."""

import typer

from scnf.cli.group import Command, Group
from scnf.cli.options import JsonOption

app = typer.Typer(cls=Group, no_args_is_help=True, help="Measure speed on this machine.")


# With one command alone typer would leave its name out: ``scnf bench overhead`` must stay what it is.
@app.callback()
def bench() -> None:
    """Measure speed on this machine."""


@app.command(cls=Command)
def overhead(json: JsonOption = False) -> None:
    """Measure what the training loop costs on top of the bare forward, backward and optimiser step."""
    from scnf.benchmarks.overhead import measure
    from scnf.cli.output import console, pairs_table, print_json

    values = measure()
    if json:
        print_json(values)
    else:
        console().print(pairs_table({key.replace("_", " "): value for key, value in values.items()}))
