"""The comparison of systems as a page, made from its run records alone."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from scnf.baselines.systems import SYSTEMS
from scnf.evaluation.plots import new_figure, style_axes, to_png
from scnf.evaluation.records import read_record
from scnf.evaluation.tables import markdown_table, mean_std
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.summary import spread
from scnf.experiments.systems import LABELS, NAME, SystemTask, record_is_of
from scnf.experiments.systems_cost import BATCH, COMPARED, COUNTS
from scnf.experiments.systems_verdict import OURS, ratio_at_one_class, verdicts

_SPEEDS = ("rows_per_second", "samples_per_second")
_HEADER = ["data", "system", "error, %", "nats", "bits/dim", "parameters", "training, s", "rows/s", "samples/s"]


def summarize(folder: Path, minutes: float) -> dict[str, Any]:
    """Return mean and standard deviation of every cell over all splits that have a record of the present settings."""
    cells = [(data, name, _records(folder, name, data, minutes)) for data in LABELS for name in SYSTEMS]
    rows = [_summary_of(data, name, records) for data, name, records in cells if records]
    return {"experiment": NAME, "minutes": minutes, "rows": rows}


def _records(folder: Path, name: str, data: str, minutes: float) -> list[dict[str, Any]]:
    recipe = SystemTask(name, data, 0, minutes, folder).recipe()
    records = [read_record(path) for path in sorted((folder / name).glob(f"{data}-*.json"))]
    return [record for record in records if record["data"]["name"] == data and record_is_of(record, recipe)]


def _summary_of(data: str, name: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def metric(key: str) -> dict[str, Any]:
        return spread([record["metrics"][key] for record in records if key in record["metrics"]])

    return {
        "data": data,
        "system": name,
        "splits": len(records),
        "parameters": records[0]["parameters"],
        "seconds": statistics.fmean(record["seconds"] for record in records),
        **{key: _mean([record[key] for record in records]) for key in _SPEEDS},
        **{key: metric(key) for key in ("error", "nll", "bits_per_dim")},
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def table_rows(summary: dict[str, Any]) -> list[list[str]]:
    """Return the cells of the table, data set by data set."""
    return [
        [
            f"{row['data']}, {LABELS[row['data']]} labels",
            _title(row),
            mean_std(row["error"]["values"]),
            _bounded(row, "nll", 2),
            _bounded(row, "bits_per_dim", 3),
            _whole(row["parameters"]),
            f"{row['seconds']:.1f}",
            *(_whole(row[key]) for key in _SPEEDS),
        ]
        for row in summary["rows"]
    ]


def _title(row: dict[str, Any]) -> str:
    title = SYSTEMS[row["system"]].title
    return f"**{title}**" if row["system"] == OURS else title


def _bounded(row: dict[str, Any], key: str, digits: int) -> str:
    text = mean_std(row[key]["values"], digits)
    return f"≤ {text}" if row[key]["values"] and SYSTEMS[row["system"]].is_bound else text


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def page(summary: dict[str, Any], costs: Sequence[dict[str, Any]]) -> str:
    """Return the page: all systems on all data sets, the cost of many classes, and how it was made."""
    splits = sorted({row["splits"] for row in summary["rows"]})
    several = f"{splits[0]} to {splits[-1]}" if len(splits) > 1 else str(splits[0]) if splits else "no"
    lines = [
        "# The systems compared with",
        "",
        f"The same splits ({several} of each) and {summary['minutes']:g} minutes of training by the clock for every",
        "fit, on one core; scikit-learn's take what they take. A schedule may end earlier. A last look at all training",
        "rows comes after that time; the seconds of the table, by the clock too, have it in them. Mean ± standard",
        "deviation over the splits. Nats and bits/dim are of −log p(x) on test rows; ≤ marks a bound (16 importance",
        "samples), – what a system does not have. `docs/systems.md` tells what each system is.",
        "",
        markdown_table(_HEADER, table_rows(summary), left=2),
        "",
        "What is claimed of these systems, and whether it holds here:",
        "",
        *(f"- {verdict}" for verdict in verdicts(summary, costs)),
        "",
        "On moons, circles and digits a sample of SCNF is the solution of an ODE: many passes of a net, however few",
        "components there are.",
        "",
    ]
    if costs:
        lines += [
            "## The cost of many classes",
            "",
            f"CPU time of a step of training on {BATCH} digits without a label, and the peak memory of the process;",
            "what it has at K = 1 is mostly torch itself.",
            *_at_one_class(costs),
            "",
            markdown_table(["system", "K", "parameters", "step, ms", "memory, MiB"], _cost_rows(costs)),
            "",
            "![cost against the number of classes](cost.png)",
            "",
        ]
    lines += ["Made by `scnf reproduce systems` from the run records beside this page; `--render` makes it again.", ""]
    return "\n".join(lines)


def _at_one_class(costs: Sequence[dict[str, Any]]) -> list[str]:
    """Return why the two systems differ before there is a second class."""
    ratio = ratio_at_one_class(costs)
    if ratio is None:
        return []
    return [
        f"At K = 1 a step of one flow per class already takes {ratio:.2f} times as long as SCNF's, for it has two",
        "FFJORD blocks where SCNF has one and a Gaussian. What K costs is how each system grows from there.",
    ]


def _cost_rows(costs: Sequence[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            SYSTEMS[row["system"]].title,
            str(row["classes"]),
            _whole(row["parameters"]),
            f"{row['step_ms']:.1f}",
            f"{row['memory_mib']:.0f}",
        ]
        for row in costs
    ]


def cost_figure(costs: Sequence[dict[str, Any]], theme: Theme = LIGHT) -> Figure:
    """Return time and memory against the number of classes, a line for each system."""
    figure = new_figure(7.2, 3.0, theme)
    for ax, key, title in zip(
        figure.subplots(1, 2), ("step_ms", "memory_mib"), ("a step of training, CPU ms", "memory, MiB"), strict=True
    ):
        style_axes(ax, "classes K", title, theme)
        for system, colour, marker in zip(COMPARED, theme.classes, "os", strict=False):
            rows = [row for row in costs if row["system"] == system]
            ax.plot(
                [row["classes"] for row in rows],
                [row[key] for row in rows],
                color=colour,
                marker=marker,
                label=SYSTEMS[system].title,
            )
        ax.set(xscale="log", yscale="log" if key == "step_ms" else "linear")
        ax.set_xticks(COUNTS, [str(classes) for classes in COUNTS])
        ax.minorticks_off()
    figure.axes[0].legend(frameon=False, labelcolor=theme.ink, fontsize=9)
    return figure


def rendered(folder: Path, minutes: float, costs: Sequence[dict[str, Any]]) -> Rendered:
    """Return what the records say."""
    summary = {**summarize(folder, minutes), "cost": list(costs)}
    summary["verdicts"] = verdicts(summary, costs)
    return Rendered(summary, page(summary, costs), " ".join(summary["verdicts"]), _HEADER, table_rows(summary), left=2)


def render(folder: Path, minutes: float, costs: Sequence[dict[str, Any]], readme: Path | None = None) -> dict[str, Any]:
    """Write table.md, table.json and the figure, bring the README up to date, and return the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    if costs:
        figures.append(folder / "cost.png")
        figures[0].write_bytes(to_png(cost_figure(costs)))
    return write(rendered(folder, minutes, costs), folder, figures, readme)
