"""``scnf fit``: train on a data set by name and keep the run in a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import DataDirOption, JsonOption, QuietOption, ThreadsOption, use_threads

if TYPE_CHECKING:
    from scnf.runs import Run


def fit(
    *,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Data set; for all see [bold]scnf data list[/bold].", show_default=False),
    ] = None,
    data_dir: DataDirOption = None,
    labels: Annotated[
        int | None,
        typer.Option(metavar="N", help="Training labels to keep; the data set's own default if not given."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fixes the split, the start and the noise; 0 if not given."),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE.toml", help="Recipe, shipped or your own; the data set's own if not given."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe (repeatable)."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Run folder to make.", show_default=False)],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in the folder; its own data and recipe are the default."),
    ] = False,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M", help="Fit the schedule to this time, evaluation not counted; such a run is not repeatable."
        ),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time between checkpoints while training.")
    ] = 20.0,
    devices: Annotated[
        int, typer.Option(min=1, metavar="N", help="GPUs, or CPU processes, that share each batch.")
    ] = 1,
    threads: ThreadsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model on a data set and report its test error and likelihood.

    [dim]scnf fit --data moons --labels 10 --seed 7 --out runs/m7[/dim]
    """
    from scnf.cli.download_progress import DownloadProgress
    from scnf.cli.output import console, metrics_table, print_json
    from scnf.recipes import parse_override
    from scnf.runs import Request, resume_run, start_run

    use_threads(threads)
    changes = dict(parse_override(item) for item in overrides or [])
    if max_minutes is not None:
        changes["training.max_minutes"] = max_minutes
    request = Request(data, labels, seed, recipe, changes, data_dir)
    # A run that was killed before its folder was there has nothing to go on from: it starts.
    goes_on = resume and out.exists()
    with DownloadProgress(quiet) as progress:
        run = resume_run(out, request, progress) if goes_on else start_run(out, request, progress, devices)
    screen = console(json, quiet)
    metrics = run.metrics()
    if metrics is None:
        screen.print(_understood(run))
        metrics = _train(run, checkpoint_every, devices, quiet, data_dir)
    else:
        run.clean()
        screen.print(f"{out} is finished already.")
    if json:
        print_json({**metrics, "out": str(out)})
    screen.print(metrics_table({**metrics, "out": str(out)}))


def _train(run: "Run", checkpoint_every: float, devices: int, quiet: bool, data_dir: Path | None) -> dict[str, Any]:
    from scnf.cli.progress import FitProgress, interrupt_between_steps

    training = run.recipe.training
    try:
        with interrupt_between_steps() as interrupt, FitProgress(training.steps, training.n_init, quiet) as progress:

            def on_step(restart: int, step: int, loss: float, done: float) -> None:
                progress(restart, step, loss, done)
                interrupt.check()

            return run.train(on_step, checkpoint_every, devices)
    except KeyboardInterrupt:
        # Run folders hold no paths of the machine, so the data's folder must be named again.
        named = "" if data_dir is None else f" --data-dir {data_dir}"
        raise KeyboardInterrupt(f"stopped; `scnf fit --out {run.path} --resume{named}` goes on from here") from None


def _understood(run: "Run") -> Any:
    from scnf.cli.output import pairs_table
    from scnf.runs import NamedData

    assert isinstance(run.data, NamedData)
    split, training = run.data.split, run.recipe.training
    shape = "×".join(map(str, split.x_train.shape[1:]))
    kind = "continuous" if split.levels is None else f"integers 0 to {split.levels - 1}"
    return pairs_table(
        {
            "data": f"{split.name}, seed {split.seed}: {len(split.classes)} classes ({', '.join(split.classes)})",
            "rows": f"{len(split.x_train):,} to train on, {len(split.x_test):,} to test; {shape} values, {kind}",
            "labels": f"{split.labelled:,} known, {len(split.x_train) - split.labelled:,} hidden",
            "recipe": f"{run.recipe.name}: {run.recipe.model.f.kind} f, {run.recipe.model.h.kind} h, "
            f"{training.steps:,} steps × {training.n_init} restart{'s' if training.n_init > 1 else ''}"
            + ("" if training.max_minutes is None else f" in {training.max_minutes:g} minutes at the most"),
            "folder": run.path,
        }
    )
