"""SGD against EM-SGD as a page with curves, made from run records alone."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from scnf.evaluation.plots import leave_out_peaks, new_figure, style_axes, to_png
from scnf.evaluation.tables import markdown_table, mean_std
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments import Options, table2
from scnf.experiments.appendix_b import NAME, OBJECTIVES
from scnf.experiments.rendering import Rendered, write
from scnf.experiments.study import Study
from scnf.experiments.summary import metric_spread, records_of, spread

FIGURE = "curves.png"
TITLES = {"sgd": "SGD", "em": "EM-SGD"}
_METRICS = {"error": ("test error, %", 2), "nll": ("test −log p(x), nats", 3)}
_STANDARD_ERRORS = 2  # a mean difference of more than so many is one
_HEADER = ["data", "objective", *(title for title, _ in _METRICS.values()), "splits"]

Records = dict[str, dict[str, list[dict[str, Any]]]]  # by data set and objective


def read(out: Path, studies: Sequence[Study]) -> Records:
    """Return the records that have curves: of the studies, and of Table 2 for MNIST."""
    records: Records = {}
    for study in (*studies, table2.STUDY):
        recipes = study.known_recipes(study.budget(Options(out=out)))
        for objective in OBJECTIVES:
            # In Table 2 these rows are Glow's without L_clf.
            for name in [name for name in recipes if name.endswith(f"-{objective}") and not name.startswith("gmm")]:
                for record in records_of(out / study.name / name, recipes[name]):
                    if "test_curve" in record:
                        of_data = records.setdefault(record["data"]["name"], {})
                        of_data.setdefault(objective, []).append(record)
    return records


def summarize(records: Records) -> dict[str, Any]:
    """Return mean and standard deviation at the end of the runs, a row for each data set and objective."""
    rows = [
        {
            "data": data,
            "objective": objective,
            "labels": of_row[0]["data"]["labels"],
            "splits": len(of_row),
            "steps": [sum(record["steps"]) for record in of_row],
            "minutes": of_row[0]["recipe"]["training"].get("max_minutes"),
            "guess": of_row[0]["recipe"]["training"].get("guess", 0.0),
            **{metric: metric_spread(of_row, metric) for metric in _METRICS},
        }
        for data, of_data in records.items()
        for objective, of_row in of_data.items()
    ]
    return {"experiment": NAME, "rows": rows, "differences": differences(records)}


def differences(records: Records) -> dict[str, dict[str, Any]]:
    """Return, by data set, the spread of EM-SGD's error less SGD's on the same split.

    Splits differ by more than objectives do, so means over splits would hide a difference that every split has.
    """
    found = {}
    for data, of_data in records.items():
        sgd, em = (
            {record["seed"]: record["metrics"]["error"] for record in of_data.get(objective, ())}
            for objective in OBJECTIVES
        )
        found[data] = spread([em[seed] - sgd[seed] for seed in sorted(sgd.keys() & em.keys())])
    return found


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the paper's claim holds, in one line."""
    # Of one split there is no standard error.
    found = {
        data: (difference["mean"], difference["std"] / math.sqrt(len(difference["values"])))
        for data, difference in summary["differences"].items()
        if difference["std"] is not None
    }
    if not found:
        return "Two splits of both objectives are not recorded on any data set yet."
    holds = [data for data, (mean, error) in found.items() if abs(mean) <= _STANDARD_ERRORS * error]
    fails = [data for data in found if data not in holds]
    told = ", ".join(f"{data} {mean:+.2f} ± {error:.2f}" for data, (mean, error) in found.items())
    parts = [f"holds on {', '.join(holds)}"] if holds else []
    parts += [f"does not hold on {', '.join(fails)}"] if fails else []
    return (
        f"**The claim {' and '.join(parts)}**: it is taken to hold where the mean difference in error on the same "
        f"split, EM-SGD − SGD, is at most {_STANDARD_ERRORS} standard errors; in points, ± one standard error: "
        f"{told}.{_ended_by_time(summary, list(found))}"
    )


def _ended_by_time(summary: dict[str, Any], judged: Sequence[str]) -> str:
    """Return what the runs that time ended compare, a sentence for each data set that has such."""
    sentences = []
    for data in judged:
        of_data = [row for row in summary["rows"] if row["data"] == data]
        if of_data[0]["minutes"] is None:
            continue
        steps = "; ".join(f"{TITLES[row['objective']]} {', '.join(map(str, row['steps']))}" for row in of_data)
        share = of_data[0]["guess"]
        same = f", and for {100 * share:.0f} % of a run a graph stands in for the posterior of both" if share else ""
        sentences.append(f" On {data} time ended the runs, not a number of steps ({steps}){same}.")
    return "".join(sentences)


def _rows(summary: dict[str, Any]) -> list[list[str]]:
    return [
        [
            f"{row['data']}, {row['labels']} labels",
            TITLES[row["objective"]],
            *(mean_std(row[metric]["values"], digits) for metric, (_, digits) in _METRICS.items()),
            str(row["splits"]),
        ]
        for row in summary["rows"]
    ]


def page(summary: dict[str, Any]) -> str:
    """Return the page: the numbers at the end, the curves, and how it was made."""
    return "\n".join(
        [
            "# SGD against EM-SGD",
            "",
            "EM-SGD takes one gradient step for each new posterior. At that posterior the gradient of EM's bound is",
            "that of the marginal likelihood (Fisher's identity). So where a number of steps ends the runs, both take",
            "the same steps up to rounding, and the table shows what rounding grows into. Splits, starts and batches",
            "are the same. Mean ± standard deviation over the splits at the end of the runs. MNIST's are the runs of",
            "Table 2, if they are recorded.",
            "",
            markdown_table(_HEADER, _rows(summary), left=2),
            "",
            verdict(summary),
            "",
            f"![learning curves]({FIGURE})",
            "",
            "Test metrics along the runs (of MNIST on the first 1,000 test images); a thin line is a split.",
            "",
            f"Made by `scnf reproduce {NAME}` from run records; `--render` makes it again.",
            "",
        ]
    )


def figure(records: Records, theme: Theme = LIGHT) -> Figure:
    """Return test error and −log p(x) against steps, a row for each data set and a colour for each objective."""
    drawn = new_figure(8.4, 2.6 * len(records), theme)
    for axes, (data, of_data) in zip(drawn.subplots(len(records), 2, squeeze=False), records.items(), strict=True):
        for ax, (metric, (title, _)) in zip(axes, _METRICS.items(), strict=True):
            style_axes(ax, "step", title, theme)
            ax.set_title(data, fontsize=11, color=theme.ink)
            for objective, of_row in of_data.items():
                # Solid below, dashed above: curves that lie on one another are both seen.
                style = {"sgd": "-", "em": "--"}[objective]
                colour = theme.classes[OBJECTIVES.index(objective)]
                for i, record in enumerate(of_row):
                    points = [(point["step"], point[metric]) for point in record["test_curve"]]
                    label = TITLES[objective] if i == 0 else None
                    ax.plot(*zip(*points, strict=True), style, color=colour, linewidth=1.3, alpha=0.8, label=label)
            leave_out_peaks(ax)
    drawn.axes[0].legend(frameon=False, labelcolor=theme.ink, fontsize=9)
    return drawn


def rendered(out: Path, studies: Sequence[Study]) -> Rendered:
    """Return what the records say."""
    summary = summarize(read(out, studies))
    return Rendered(summary, page(summary), verdict(summary), _HEADER, _rows(summary), left=2)


def render(out: Path, studies: Sequence[Study]) -> dict[str, Any]:
    """Write table.md, table.json and the curves, and return the summary."""
    records = read(out, studies)
    folder = out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    if records:
        figures.append(folder / FIGURE)
        figures[0].write_bytes(to_png(figure(records), dpi=110))
    return write(rendered(out, studies), folder, figures)
