"""``scnf ship``: put a trained model into the package, for who makes a release."""

from typing import Annotated

import typer

from scnf.cli.options import JsonOption, ModelArgument
from scnf.errors import UserError


def ship(
    run: ModelArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name to ship it under.", show_default=False)],
    json: JsonOption = False,
) -> None:
    """Put a trained model into the package, where every command finds it by its name.

    [dim]scnf ship runs/mnist mnist-100[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, print_json
    from scnf.modelfile import find_model
    from scnf.shipped import LARGEST_FILE, free_place

    path = free_place(name)
    size = find_model(run).stat().st_size
    if size > LARGEST_FILE:
        raise UserError(f"{run} has {size / 1e6:.1f} MB; a shipped model has {LARGEST_FILE / 1e6:g} MB at the most")
    load(run).save(path)
    if json:
        print_json({"name": name, "file": str(path), "bytes": path.stat().st_size})
    else:
        console().print(f"{name} is in {path}.", soft_wrap=True)
