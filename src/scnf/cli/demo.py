"""``scnf demo``: the main job on embedded data, with a page to look at."""

from pathlib import Path
from typing import Annotated

import typer

from scnf.cli.options import JsonOption


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The demo's own folder: what an earlier demo left there is replaced.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Fixes the splits and the starts.")] = 0,
    json: JsonOption = False,
) -> None:
    """Fit moons and circles (10 labels) and digits (100 labels) beside scikit-learn, and write report.html.

    Takes a few minutes on two cores; nothing is downloaded.
    """
    from scnf.cli.output import console, print_json
    from scnf.experiments.demo import result_table, run

    results = run(out, seed)
    if json:
        print_json(results)
    screen = console(json)
    screen.print(result_table(list(results["results"].values())))
    screen.print(f"The pictures are in {results['report']}", soft_wrap=True)
