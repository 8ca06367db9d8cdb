"""``scnf data``: which data sets there are and what is in them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.group import Command, Group
from scnf.cli.options import JsonOption

if TYPE_CHECKING:
    from scnf.data.sources import Source

app = typer.Typer(cls=Group, no_args_is_help=True, help="List data sets and tell what is in them.")


@app.command("list", cls=Command)
def list_data(json: JsonOption = False) -> None:
    """List the data sets that can be named."""
    from scnf.cli.output import console, print_json, rows_table
    from scnf.data import SOURCES

    told = {name: _told(source) for name, source in SOURCES.items()}
    if json:
        print_json(told)
    else:
        rows = [[name, *values.values()] for name, values in told.items()]
        console().print(rows_table(["name", "what it is", "labels", "recipe"], rows))


@app.command(cls=Command)
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Data set.", show_default=False)],
    json: JsonOption = False,
) -> None:
    """Tell the rows, the shape, the classes and the defaults of a data set."""
    from scnf.cli.output import console, pairs_table, print_json
    from scnf.data import find_source, load

    source = find_source(name)
    split = load(name)
    values = {
        "name": name,
        **_told(source),
        "train_rows": len(split.x_train),
        "test_rows": len(split.x_test),
        "shape": list(split.x_train.shape[1:]),
        "levels": split.levels,
        "classes": list(split.classes),
    }
    if json:
        print_json(values)
        return
    shape, classes = "×".join(map(str, split.x_train.shape[1:])), ", ".join(split.classes)
    shown = {
        "levels": "continuous values" if split.levels is None else split.levels,
        "shape": shape,
        "classes": classes,
    }
    console().print(pairs_table({key.replace("_", " "): value for key, value in {**values, **shown}.items()}))


def _told(source: "Source") -> dict[str, Any]:
    return {
        "description": source.description,
        "default_labels": source.default_labels,
        "default_recipe": source.default_recipe,
    }
