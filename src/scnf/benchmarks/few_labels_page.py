"""The page of ``scnf bench labels``, made from its records alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from scnf.baselines.sklearn import COMPARED
from scnf.benchmarks.few_labels import LABELS, TABLE, FewLabels
from scnf.errors import UserError
from scnf.evaluation.plots import new_figure, style_axes, to_png
from scnf.evaluation.records import read_record
from scnf.evaluation.reliability import Reliability
from scnf.evaluation.tables import markdown_table, mean_std, update_block
from scnf.evaluation.themes import LIGHT, MARKERS, Theme
from scnf.experiments.rendering import root_of

Records = dict[tuple[str, int], list[dict[str, Any]]]
_OURS = "SCNFClassifier"
# Temperatures up to here do nothing that could be seen.
_NO_CHANGE = 1.001
_COLUMNS = ["data", "labels", f"{_OURS}, error %", "best of the others", "its error, %", "splits"]
_WHEN: tuple[Literal["before", "after"], ...] = ("before", "after")
_ECE = [f"ECE {when}, %" for when in _WHEN] + [f"together {when}, %" for when in _WHEN]
_MORE = ["data", "labels", *_ECE, "temperature", "log p(x)", "CPU seconds"]


def render(folder: Path, tasks: Sequence[FewLabels]) -> dict[str, Any]:
    """Write table and plots from the records that there are, and return the files and the table."""
    records = _read(tasks)
    if not any(records.get(pair) for pair in TABLE):
        raise UserError(f"{folder} holds no record; leave out --render to fit first")
    files = [folder / "labels.md", folder / "labels.png", folder / "reliability.png"]
    files[0].write_text(page(tasks), encoding="utf-8")
    if (root := root_of(folder.parent)) is not None:
        update_block(root / "README.md", "labels", block(tasks))
    files[1].write_bytes(to_png(error_figure(records)))
    files[2].write_bytes(to_png(reliability_figure(records)))
    return {"files": [str(path) for path in files], "table": {"columns": _COLUMNS, "rows": _rows(records)}}


def block(tasks: Sequence[FewLabels]) -> str:
    """Return the table as the README has it."""
    return markdown_table(_COLUMNS, _rows(_read(tasks)))


def _rows(records: Records) -> list[list[str]]:
    return [_row(records, pair) for pair in TABLE if records.get(pair)]


def _read(tasks: Sequence[FewLabels]) -> Records:
    records: Records = {}
    for task in tasks:
        if task.path.is_file():
            records.setdefault((task.data, task.labels), []).append(read_record(task.path))
    return records


def _errors(records: Sequence[dict[str, Any]], name: str) -> list[float]:
    return [record["metrics"]["error"] if name == _OURS else record["baselines"][name] for record in records]


def _best(records: Sequence[dict[str, Any]]) -> str:
    return min(COMPARED, key=lambda name: np.mean(_errors(records, name)))


def _row(records: Records, pair: tuple[str, int]) -> list[str]:
    found = records[pair]
    best = _best(found)
    ours, theirs = mean_std(_errors(found, _OURS)), mean_std(_errors(found, best))
    return [pair[0], str(pair[1]), ours, best, theirs, str(len(found))]


def _verdict(records: Records) -> str:
    """Return on how many rows of the table our error is the lowest, and on how many half of the next."""
    pairs = [pair for pair in TABLE if records.get(pair)]
    errors = [
        (np.mean(_errors(records[pair], _OURS)), np.mean(_errors(records[pair], _best(records[pair]))))
        for pair in pairs
    ]
    lowest, half = (sum(ours < share * best for ours, best in errors) for share in (1, 0.5))
    return (
        f"**`{_OURS}` has the lowest mean error in {lowest} of {len(pairs)} rows; half of the best other's, which we "
        f"aim at, in {half}.**"
    )


def _temperature_words(records: Records) -> str:
    """Return what the temperature does to the calibration error of single splits, by kind of data."""
    told = []
    for data in LABELS:
        found = [record for (name, _), one in records.items() if name == data for record in one]
        if not found:
            continue
        gains = [
            record["metrics"]["ece_before"] - record["metrics"]["ece"]
            for record in found
            if record["temperature"] > _NO_CHANGE
        ]
        lower, higher = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        told.append(f"on {data} it lowers it in {lower} of {len(found)} splits and raises it in {higher}")
    return f"By split, the temperature changes the ECE thus: {'; '.join(told)}; elsewhere it is 1 and changes nothing."


def _together(records: Sequence[dict[str, Any]], when: Literal["before", "after"]) -> Reliability:
    """Return the bins of all splits together, by tenths of confidence: a split alone has few rows that are unsure."""
    bins = [record["reliability"][when] for record in records]
    confidence, accuracy, rows = (
        np.concatenate([found[key] for found in bins]) for key in ("confidence", "accuracy", "rows")
    )
    tenth = np.minimum((confidence * 10).astype(int), 9)
    members = [tenth == t for t in np.unique(tenth)]
    return Reliability(
        np.array([np.average(confidence[m], weights=rows[m]) for m in members]),
        np.array([np.average(accuracy[m], weights=rows[m]) for m in members]),
        np.array([rows[m].sum() for m in members]),
    )


def page(tasks: Sequence[FewLabels]) -> str:
    """Return the page: the table, and all that was measured."""
    records = _read(tasks)
    rows = _rows(records)
    pairs = [pair for pair in records if records[pair]]
    all_rows = [
        [data, str(n), *(mean_std(_errors(records[data, n], name)) for name in (_OURS, *COMPARED))] for data, n in pairs
    ]

    def spread(pair: tuple[str, int], value: Any, digits: int = 2) -> str:
        return mean_std([value(record) for record in records[pair]], digits)

    more = [
        [
            data,
            str(n),
            spread((data, n), lambda r: 100 * r["metrics"]["ece_before"]),
            spread((data, n), lambda r: 100 * r["metrics"]["ece"]),
            *(f"{100 * _together(records[data, n], when).ece:.2f}" for when in _WHEN),
            spread((data, n), lambda r: r["temperature"], 1),
            spread((data, n), lambda r: -r["metrics"]["nll"]),
            spread((data, n), lambda r: r["cpu_seconds"], 1),
        ]
        for data, n in pairs
    ]
    return (
        "\n\n".join(
            [
                "# Few labels\n\n`SCNFClassifier()` as it comes, on scikit-learn's own data: two thirds of the rows "
                "for training, so many labels kept, the same number for each class. Test error in percent, mean ± "
                "standard deviation over the splits; `scnf bench labels` runs it again.",
                markdown_table(_COLUMNS, rows),
                _verdict(records),
                "![Error against labels](labels.png)",
                "## All systems",
                markdown_table(["data", "labels", _OURS, *COMPARED], all_rows),
                "## Calibration, density and time\n\nThe expected calibration error of the posterior as it is, and at "
                "the temperature that was found on the training rows: the mean of the splits, of which each has few "
                "test rows that are unsure, and of all their test rows together. log p(x) is a test row's mean, in "
                "nats.",
                markdown_table(_MORE, more),
                _temperature_words(records),
                "![Accuracy against confidence](reliability.png)",
            ]
        )
        + "\n"
    )


def error_figure(records: Records, theme: Theme = LIGHT) -> Figure:
    """Return a panel for each data set: mean error of each system against the number of labels."""
    figure = new_figure(10.5, 3.6, theme)
    for ax, data in zip(figure.subplots(1, len(LABELS)), LABELS, strict=True):
        style_axes(ax, "labels", "test error, %", theme)
        ax.set_title(data, color=theme.ink, fontsize=11)
        counts = sorted(n for name, n in records if name == data)
        for i, name in enumerate((_OURS, *COMPARED)):
            means = [np.mean(_errors(records[data, n], name)) for n in counts]
            style = {"linewidth": 2.4, "zorder": 3} if name == _OURS else {"linewidth": 1.0, "zorder": 2}
            ax.plot(counts, means, marker=MARKERS[i], markersize=5, color=theme.classes[i], label=name, **style)
        ax.set_xscale("log")
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, labelcolor=theme.ink, fontsize=9)
    return figure


def reliability_figure(records: Records, theme: Theme = LIGHT) -> Figure:
    """Return a panel for each row of the table: accuracy against confidence, before and after calibration."""
    pairs = [pair for pair in TABLE if records.get(pair)]
    figure = new_figure(2.7 * len(pairs) + 0.3, 3.2, theme)
    for ax, pair in zip(figure.subplots(1, len(pairs), squeeze=False)[0], pairs, strict=True):
        style_axes(ax, "confidence", "accuracy", theme)
        ax.set_title(f"{pair[0]}, {pair[1]} labels", color=theme.ink, fontsize=10)
        ax.plot([0, 1], [0, 1], color=theme.quiet, linewidth=1)
        for i, when in enumerate(_WHEN):
            bins = _together(records[pair], when)
            ax.plot(bins.confidence, bins.accuracy, marker=MARKERS[i], color=theme.classes[i], label=when)
        ax.legend(frameon=False, labelcolor=theme.ink, fontsize=9)
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02))
    return figure
