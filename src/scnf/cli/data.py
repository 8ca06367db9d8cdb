"""``scnf data``: which data sets there are, what is in them, and getting their files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.group import Command, Group
from scnf.cli.options import DataDirOption, JsonOption
from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.data.sources import Source

app = typer.Typer(cls=Group, no_args_is_help=True, help="List data sets, get their files and tell what is in them.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Data set.", show_default=False)]


@app.command("list", cls=Command)
def list_data(data_dir: DataDirOption = None, json: JsonOption = False) -> None:
    """List the data sets that can be named, and where their files are."""
    from scnf.cli.output import console, print_json, rows_table
    from scnf.data import SOURCES, locate

    folders = {name: locate(name, data_dir) for name in SOURCES}
    if json:
        print_json({name: {**_told(source), **_found(source, folders[name])} for name, source in SOURCES.items()})
        return
    rows = [[name, *_told(source).values(), _where(source, folders[name])] for name, source in SOURCES.items()]
    table = rows_table(["name", "what it is", "labels", "recipe", "files"], rows)
    table.columns[-1].overflow = "fold"  # a folder that is cut off is of no use
    console().print(table)


@app.command(cls=Command)
def fetch(name: NameArgument, data_dir: DataDirOption = None, json: JsonOption = False) -> None:
    """Download the files of a data set, unless they are here already; what broke off is gone on with.

    [dim]scnf data fetch mnist --data-dir ~/data[/dim]
    """
    from scnf.cli.download_progress import DownloadProgress
    from scnf.cli.output import console, print_json
    from scnf.data import fetch, locate

    before = locate(name, data_dir)
    with DownloadProgress() as progress:
        folder = fetch(name, data_dir, progress)
    downloaded = folder != before
    if json:
        print_json({"name": name, "folder": None if folder is None else str(folder), "downloaded": downloaded})
    elif folder is None:
        console().print(f"{name} needs no files.")
    else:
        console().print(f"{name} is {'now' if downloaded else 'already'} in {folder}", soft_wrap=True)


@app.command(cls=Command)
def info(name: NameArgument, data_dir: DataDirOption = None, json: JsonOption = False) -> None:
    """Tell the rows, the shape, the classes and the defaults of a data set."""
    from scnf.cli.output import console, pairs_table, print_json
    from scnf.data import find_source, load, locate

    source = find_source(name)
    folder = locate(name, data_dir)
    if source.published is not None and folder is None and data_dir is None:
        raise UserError(f"{name} is not downloaded yet; `scnf data fetch {name}` does it")
    split = load(name, data_dir=data_dir)
    values = {
        "name": name,
        **_told(source),
        "train_rows": len(split.x_train),
        "test_rows": len(split.x_test),
        "shape": list(split.x_train.shape[1:]),
        "levels": split.levels,
        "classes": list(split.classes),
        **_found(source, folder),
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


def _found(source: "Source", folder: Path | None) -> dict[str, Any]:
    return {
        "available": source.published is None or folder is not None,
        "folder": None if folder is None else str(folder),
    }


def _where(source: "Source", folder: Path | None) -> str:
    if source.published is None:
        return "none needed"
    return f"not here yet ({source.published.megabytes} MB)" if folder is None else str(folder)
