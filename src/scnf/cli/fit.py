"""``scnf fit``: train on a file, on a folder of images or on a data set by name, and keep the run in a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scnf.cli.options import DataDirOption, JsonOption, QuietOption, ThreadsOption, use_threads
from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.runs import Run

_FILES, _NAMED, _TRAINING = "Your own data", "A data set by name", "Training"
_OF_FILES = {
    "target": "--target",
    "unlabeled": "--unlabeled",
    "test": "--test",
    "test_share": "--test-share",
    "ignored": "--ignore",
    "kinds": "--kind",
    "image_size": "--image-size",
    "image_color": "--image-color or --image-grey",
    "calibrated": "--calibrate or --no-calibrate",
}


def fit(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Table to learn from: .csv, .tsv (also .gz), .parquet, .feather, .arrow, .npz or .npy.",
            show_default=False,
        ),
    ] = None,
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels; an empty cell means that there is none.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    image_folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Images to learn from: class_name/*.png and unlabeled/*.png.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(
            metavar="MARKER",
            help="Value of the target that means no label, too.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to test on.", show_default=False, rich_help_panel=_FILES),
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the rows to keep for the test, of each class and of those without a label.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out (repeatable).", rich_help_panel=_FILES),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=KIND",
            help="What a column is, number, integer or category, where that is not to be found out (repeatable).",
            rich_help_panel=_FILES,
        ),
    ] = None,
    image_size: Annotated[
        str | None,
        typer.Option(
            metavar="HxW",
            help="Stretch all images to this height and width.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    image_color: Annotated[
        bool | None,
        typer.Option(
            "--image-color/--image-grey",
            help="Make all images coloured, or grey.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Whether probabilities are calibrated by short fits that hide labels in turn; they are by default.",
            show_default=False,
            rich_help_panel=_FILES,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Data set; for all see [bold]scnf data list[/bold].",
            show_default=False,
            rich_help_panel=_NAMED,
        ),
    ] = None,
    data_dir: DataDirOption = None,
    labels: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training labels to keep; the data set's own default if not given.",
            rich_help_panel=_NAMED,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Fixes the split, the start and the noise; 0 if not given.",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="Recipe, shipped or your own; chosen by the data, or the data set's own, if not given.",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a key of the recipe (repeatable).",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Run folder to make.", show_default=False)],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in the folder; its own data and recipe are the default."),
    ] = False,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="Fit the schedule to this time; calibration takes up to a quarter more. Such a run is not repeatable.",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Time between checkpoints while training.", rich_help_panel=_TRAINING
        ),
    ] = 20.0,
    devices: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="GPUs, or CPU processes, that share each batch.", rich_help_panel=_TRAINING
        ),
    ] = 1,
    threads: ThreadsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model on your own file or images, or on a data set by name, and report how good it is.

    [dim]scnf fit data.csv --target label --test-share 0.2 --out runs/a[/dim]

    [dim]scnf fit --image-folder photos --out runs/photos[/dim]

    [dim]scnf fit --data moons --labels 10 --seed 7 --out runs/m7[/dim]
    """
    from scnf.cli.output import console, metrics_table, print_json
    from scnf.cli.understood import parse_kinds, parse_size, understood, warnings_of
    from scnf.recipes import parse_override
    from scnf.runs import Request
    from scnf.runs.own import FileRequest

    use_threads(threads)
    _refuse_together({"FILE": file, "--image-folder": image_folder, "--data": data})
    changes = dict(parse_override(item) for item in overrides or [])
    if max_minutes is not None:
        changes["training.max_minutes"] = max_minutes
    own = FileRequest(
        file,
        image_folder,
        target,
        unlabeled,
        None if ignore is None else tuple(ignore),
        parse_kinds(kind),
        parse_size(image_size),
        image_color,
        test,
        test_share,
        calibrate,
        seed,
        recipe,
        changes,
    )
    named = Request(data, labels, seed, recipe, changes, data_dir)
    run = _open(out, resume, own, named, devices, quiet)
    screen = console(json, quiet)
    metrics = run.metrics()
    if metrics is None:
        screen.print(understood(run))
        for sentence in warnings_of(run):
            screen.print(f"Note: {sentence}", soft_wrap=True)
        metrics = _train(run, checkpoint_every, devices, quiet, data_dir)
    else:
        run.clean()
        screen.print(f"{out} is finished already.")
    if json:
        print_json({**metrics, "out": str(out)})
    screen.print(metrics_table({**metrics, "out": str(out)}))


def _refuse_together(given: dict[str, Any]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UserError(f"a run learns from one thing: {' and '.join(names)} cannot go together")


def _open(out: Path, resume: bool, own: Any, named: Any, devices: int, quiet: bool) -> "Run":
    from scnf.cli.download_progress import DownloadProgress
    from scnf.runs import resume_run, start_run
    from scnf.runs.own import is_file_run, resume_file_run, start_file_run

    # A run that was killed before its folder was there has nothing to go on from: it starts.
    goes_on = resume and out.exists()
    on_files = own.file is not None or own.image_folder is not None
    if goes_on and is_file_run(out):
        if named.data is not None or named.labels is not None:
            raise UserError(f"{out} is a run on files, not on a data set by name")
        return resume_file_run(out, own)
    if goes_on and on_files:
        raise UserError(f"{out} is a run on a data set by name, not on files")
    if on_files and named.labels is not None:
        raise UserError("--labels is for data sets by name; in your own data, labels that are not there are hidden")
    if on_files:
        return start_file_run(out, own, devices)
    for name, option in _OF_FILES.items():
        if getattr(own, name) is not None:
            raise UserError(f"{option} is for your own data: name a FILE or an --image-folder")
    with DownloadProgress(quiet) as progress:
        return resume_run(out, named, progress) if goes_on else start_run(out, named, progress, devices)


def _train(run: "Run", checkpoint_every: float, devices: int, quiet: bool, data_dir: Path | None) -> dict[str, Any]:
    from scnf.cli.progress import FitProgress, interrupt_between_steps
    from scnf.cli.understood import likelihood_of, wait_of

    training = run.recipe.training
    shown = FitProgress(training.steps, training.n_init, quiet, likelihood_of(run), wait_of(run))
    try:
        with interrupt_between_steps() as interrupt, shown as progress:

            def on_step(restart: int, step: int, loss: float, done: float) -> None:
                progress(restart, step, loss, done)
                interrupt.check()

            def on_stage(what: str) -> None:
                interrupt.check()
                progress.stage(what)

            def on_calibration_step(*_: object) -> None:
                interrupt.check()

            return run.train(on_step, checkpoint_every, devices, progress.record, on_stage, on_calibration_step)
    except KeyboardInterrupt:
        # Run folders hold no paths of named data sets, so their folder must be named again.
        folder = "" if data_dir is None else f" --data-dir {data_dir}"
        raise KeyboardInterrupt(f"stopped; `scnf fit --out {run.path} --resume{folder}` goes on from here") from None
