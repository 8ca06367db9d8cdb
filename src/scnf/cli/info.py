"""``scnf info``: what a model is, what it was learned from, how good it is, and how to repeat it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scnf.cli.options import JsonOption, ModelArgument

if TYPE_CHECKING:
    from scnf.modelfile import TrainedModel

_MOST_COLUMNS = 30


def info(run: ModelArgument, json: JsonOption = False) -> None:
    """Tell what a model is: its columns, classes, recipe and metrics, and how to repeat its run.

    [dim]scnf info runs/a[/dim]
    """
    from scnf import load
    from scnf.cli.output import console, metrics_table, pairs_table, print_json, rows_table
    from scnf.jsonfile import read_json
    from scnf.modelfile import MODEL_FILE
    from scnf.runs.folder import METRICS_FILE, RECIPE_FILE
    from scnf.runs.repeating import repeat_command
    from scnf.tables.telling import column_words

    if run.is_dir() and (run / RECIPE_FILE).is_file() and not (run / MODEL_FILE).is_file():
        _tell_of_unfinished(run, json)
        return
    trained = load(run)
    metrics = read_json(run / METRICS_FILE) if (run / METRICS_FILE).is_file() else {}
    told = {**_told(trained, run), "metrics": metrics, "repeat": repeat_command(trained, run)}
    if json:
        print_json(told)
        return
    screen = console()
    screen.print(pairs_table(_shown(trained, told)))
    if trained.table is not None:
        columns = trained.table.columns
        screen.print(rows_table(["column", "kind", "what it holds"], map(column_words, columns[:_MOST_COLUMNS])))
        if len(columns) > _MOST_COLUMNS:
            screen.print(f"… and {len(columns) - _MOST_COLUMNS} columns more (--json tells all)")
    if metrics:
        screen.print(metrics_table(metrics))
    if told["repeat"] is not None:
        screen.print("To repeat the run:")
        screen.print(f"  {told['repeat']}", soft_wrap=True)


def _tell_of_unfinished(run: Path, json: bool) -> None:
    from scnf.cli.output import console, print_json
    from scnf.runs.folder import LAST_GOOD_FILE

    diverged, repeat = (run / LAST_GOOD_FILE).is_file(), f"scnf fit --out {run} --resume"
    if json:
        print_json({"model": str(run), "finished": False, "diverged": diverged, "repeat": repeat})
    elif diverged:
        console().print(
            f"{run} diverged: fit anew into another folder with a smaller training.learning_rate. The model before "
            f"that is {run / LAST_GOOD_FILE}.",
            soft_wrap=True,
        )
    else:
        console().print(f"{run} is not finished; `{repeat}` goes on with it.", soft_wrap=True)


def _told(trained: "TrainedModel", run: Path) -> dict[str, Any]:
    from scnf.evaluation.trained import describe
    from scnf.modelfile import find_model

    model = trained.model
    return {
        "model": str(run),
        "finished": True,
        "bytes": find_model(run).stat().st_size,
        **describe(trained),
        "rows": trained.data.get("rows"),
        "target": trained.data.get("target"),
        "classes": list(trained.classes),
        "shape": list(model.shape),
        "levels": trained.levels,
        "z_f": model.conditional.features,
        "columns": None if trained.table is None else trained.table.model_dump(mode="json")["columns"],
        "temperature": trained.temperature,
        "tells_outliers": bool(trained.densities),
        "settings": trained.recipe.model_dump(mode="json"),
    }


def _shown(trained: "TrainedModel", told: dict[str, Any]) -> dict[str, Any]:
    from scnf.tables.table import listed

    spec, count = trained.recipe.model, len(trained.classes)
    target = f" of {told['target']!r}" if told["target"] else ""
    seed = "" if told["seed"] is None else f", seed {told['seed']}"
    rows = {}
    if told["rows"] is not None:
        rows = {"rows": f"{told['rows']:,}, {told['labels']:,} of them with a label"}
    elif told["labels"] is not None:
        rows = {"labels": f"{told['labels']:,}, of all its training rows"}
    shape = "×".join(map(str, trained.model.shape))
    kind = "numbers" if trained.levels is None else f"whole numbers 0 to {trained.levels - 1}"
    return {
        "model": f"{told['model']} ({told['bytes'] / 1e6:.2f} MB, {told['parameters']:,} parameters)",
        "data": f"{told['data'] or 'not told'}{seed}",
        **rows,
        "classes": f"{count}{target}: {listed(trained.classes)}",
        "takes": f"rows of {shape} {kind}" if trained.table is None else f"{len(trained.table.columns)} columns",
        "recipe": f"{trained.recipe.name}: {spec.f.kind} f, {spec.h.kind} h; z_f has {told['z_f']} of "
        f"{trained.model.dimensions} components",
        "temperature": f"{trained.temperature:.3g}",
        "outliers": "can be told" if trained.densities else "cannot be told: the file holds no densities",
    }
