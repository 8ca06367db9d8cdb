"""All tables and figures: what is recorded of each, running what is not, and one page about all."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scnf.errors import UserError
from scnf.evaluation.records import read_record
from scnf.evaluation.tables import block_is_current, markdown_table, update_block
from scnf.experiments import EXPERIMENTS, Options, Recorded, load_experiment
from scnf.experiments.rendering import PAGE, outdated, root_of

INDEX = "README.md"
DOCS, BLOCK = "docs/reproduce.md", "items"
COLUMNS = ("item", "status", "wanted", "recorded", "stale", "missing", "CPU hours left")


def status_of(name: str, options: Options) -> dict[str, Any]:
    """Return whether an item is recorded, what is missing, and the CPU hours that all of it and the rest may take.

    Stale is a record of another recipe or time. Hours go by the time that fits have, or else by that of the records;
    None where neither tells it.
    """
    tasks = load_experiment(name).plan(options)
    done = [task for task in tasks if task.is_done()]
    left = [task for task in tasks if task not in done]
    stale = sum(task.record_path.is_file() for task in left)
    return {
        "status": "stale" if stale else "missing" if left else "recorded",
        "wanted": len(tasks),
        "recorded": len(done),
        "stale": stale,
        "missing": len(left) - stale,
        "cpu_hours": _hours(tasks, done),
        "cpu_hours_left": _hours(left, done) if left else 0.0,
    }


def _hours(tasks: Sequence[Recorded], done: Sequence[Recorded]) -> float | None:
    limits = [task.minutes for task in tasks if task.minutes is not None]
    if len(limits) == len(tasks):
        return round(sum(limits) / 60, 2)
    records = [read_record(task.record_path) for task in done]
    if not records:
        return None
    seconds = statistics.fmean(record.get("cpu_seconds", record.get("seconds", 0.0)) for record in records)
    return round(len(tasks) * seconds / 3600, 2)


def statuses(names: Sequence[str], options: Options) -> dict[str, dict[str, Any]]:
    """Return the status of items, by name."""
    return {name: status_of(name, options) for name in names}


def status_rows(items: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the cells of a table of statuses."""
    return [
        [
            name,
            *(str(item[key]) for key in ("status", "wanted", "recorded", "stale", "missing")),
            _told(item["cpu_hours_left"]),
        ]
        for name, item in items.items()
    ]


def _told(hours: float | None) -> str:
    return "–" if hours is None else f"{hours:.1f}" if hours >= 1 or not hours else f"{hours:.2f}"


def run_all(options: Options) -> dict[str, Any]:
    """Run every item, or render those that have records, and go on where one cannot be made."""
    failures, files, verdicts = [], [], []
    for name in EXPERIMENTS:
        experiment = load_experiment(name)
        if options.render_only and experiment.rendered(options.out) is None:
            continue
        try:
            summary = experiment.run(options)
        except UserError as error:
            failures.append(f"{name}: {error}")
            continue
        failures += [f"{name}: {failure}" for failure in summary["failures"]]
        files += summary["files"]
        verdicts += [f"{name}: {verdict}" for verdict in summary.get("verdicts", ())]
    items = statuses(list(EXPERIMENTS), options)
    return {
        "items": items,
        "table": {"columns": list(COLUMNS), "rows": status_rows(items)},
        "verdicts": [*verdicts, *(f"failed: {failure}" for failure in failures)],
        "files": files,
        "failures": failures,
    }


def index_page(out: Path) -> str:
    """Return the page about all items: what the paper says, whether it holds here, and the table."""
    lines = [
        "# Results",
        "",
        "Every table and figure, made from the run records beside it. `scnf reproduce all` makes what is missing,",
        "`scnf reproduce all --dry-run` tells what that is. Beside the paper's: [SCNFClassifier with few labels]"
        "(labels/labels.md).",
    ]
    for name, item in EXPERIMENTS.items():
        status = status_of(name, Options(out=out))
        rendered = load_experiment(name).rendered(out)
        lines += ["", f"## {item.title}", "", f"*The paper:* {item.claim}", ""]
        if rendered is None:
            lines.append(f"Not recorded yet; `scnf reproduce {name}` makes it.")
            continue
        figures = [f"[{path.stem}]({name}/{path.name})" for path in sorted((out / name).glob("*.png"))]
        links = ", ".join([f"[the whole page]({name}/{PAGE})", *figures])
        covered = f"{status['recorded']} of {status['wanted']} runs that are wanted are recorded."
        lines += [f"*Here:* {rendered.verdict}", "", rendered.table(), "", f"{covered} More: {links}."]
    return "\n".join([*lines, ""])


def docs_block(out: Path) -> str:
    """Return the table of items for the docs: the command, what is run and for how long."""
    rows = []
    for name, item in EXPERIMENTS.items():
        status = status_of(name, Options(out=out))
        rows.append([item.title, f"`scnf reproduce {name}`", str(status["wanted"]), _told(status["cpu_hours"])])
    return markdown_table(["what", "command", "runs", "CPU hours"], rows, left=2)


def write_index(out: Path) -> Path:
    """Write the page about all items, bring the docs up to date, and return the page."""
    path = out / INDEX
    path.write_text(index_page(out), encoding="utf-8")
    root = root_of(out)
    if root is not None:
        update_block(root / DOCS, BLOCK, docs_block(out))
    return path


def all_outdated(root: Path) -> list[str]:
    """Return the pages of a repository that do not say what the records in its results say, and what mends them."""
    out, wrong = root / "results", []
    for name in EXPERIMENTS:
        rendered = load_experiment(name).rendered(out)
        if rendered is not None:
            wrong += [_mend(path, root, name) for path in outdated(rendered, out / name, root)]
    if not (out / INDEX).is_file() or (out / INDEX).read_text(encoding="utf-8") != index_page(out):
        wrong.append(_mend(out / INDEX, root, "all"))
    if not block_is_current(root / DOCS, BLOCK, docs_block(out)):
        wrong.append(_mend(root / DOCS, root, "all"))
    return wrong


def _mend(path: Path, root: Path, name: str) -> str:
    return f"{path.relative_to(root)} does not say what the records say; scnf reproduce {name} --render mends it"
