"""``scnf evaluate``: repeat the metrics of a trained model from disk."""

from scnf.cli.options import DataDirOption, JsonOption, ModelArgument, ThreadsOption, use_threads
from scnf.errors import UserError


def evaluate(
    run: ModelArgument, data_dir: DataDirOption = None, threads: ThreadsOption = None, json: JsonOption = False
) -> None:
    """Report the test error and likelihood of a trained model on the split it was trained with.

    [dim]scnf evaluate runs/m7 --json[/dim]
    """
    from scnf import load, load_split
    from scnf.cli.download_progress import DownloadProgress
    from scnf.cli.output import console, metrics_table, print_json
    from scnf.evaluation.records import finite
    from scnf.evaluation.trained import describe, evaluate_on

    use_threads(threads)
    trained = load(run)
    if not trained.data.keys() >= {"name", "labels", "seed"}:
        raise UserError(f"{run} does not tell which data set it was trained on")
    with DownloadProgress() as progress:
        split = load_split(trained.data["name"], trained.data["labels"], trained.data["seed"], data_dir, progress)
    metrics = finite({**describe(trained), **evaluate_on(trained, split), "model": str(run)})
    if json:
        print_json(metrics)
    else:
        console().print(metrics_table(metrics))
