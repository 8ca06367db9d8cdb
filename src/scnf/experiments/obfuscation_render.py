"""Data obfuscation as a page and maps, made from its records alone."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scnf.errors import UserError
from scnf.evaluation.plots import draw_points, limits, new_figure, to_png
from scnf.evaluation.records import read_record
from scnf.evaluation.tables import markdown_table, mean_std
from scnf.evaluation.themes import LIGHT, Theme
from scnf.experiments.rendering import TABLE, Rendered, write
from scnf.experiments.summary import spread

_HIDDEN = "z_h, true label"
# So much better than always naming the most frequent class is hardly better than chance.
_HARDLY = 0.05
_ALMOST_PERFECT = 0.9  # of the labels, or more


def summarize(folder: Path) -> dict[str, Any]:
    """Return the accuracy of every probe on every representation, over all models of a data set."""
    records = [read_record(path) for path in sorted(folder.glob("*.json")) if path.name != TABLE]
    if not records:
        raise UserError(f"{folder} holds no record; leave out --render to train first")
    names = dict.fromkeys(record["data"]["name"] for record in records)
    parts = [_summary_of(name, [r for r in records if r["data"]["name"] == name]) for name in names]
    return {"experiment": "obfuscation", "rows": parts}


def _summary_of(name: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    first = records[0]["probes"]
    return {
        "data": name,
        "labels": records[0]["data"].get("labels"),
        "recipe": records[0]["recipe"]["name"],
        "probe_rows": records[0]["probe_rows"],
        "models": len(records),
        "error": spread([record["metrics"]["error"] for record in records]),
        "majority": spread([record["majority"] for record in records]),
        "probes": {
            representation: {
                probe: spread([record["probes"][representation][probe] for record in records])
                for probe in first[representation]
            }
            for representation in first
        },
    }


def strongest(part: dict[str, Any], representation: str) -> float:
    """Return the mean accuracy of the probe that is best on the test rows."""
    return max(found["mean"] for found in part["probes"][representation].values())


def verdict(part: dict[str, Any]) -> str:
    """Return whether the paper's claim holds, in one line."""
    hidden, seen, chance = strongest(part, _HIDDEN), strongest(part, "z_f"), part["majority"]["mean"]
    halves = {"z_f": seen >= _ALMOST_PERFECT, "z_h": hidden <= chance + _HARDLY}
    failing = " and ".join(name for name, holds in halves.items() if not holds)
    word = f"does not hold on {part['data']}, as to {failing}" if failing else f"holds on {part['data']}"
    return (
        f"**The claim {word}**: the strongest probe tells "
        f"{hidden:.1%} of the labels from z_h (encoded by the true label), {seen:.1%} from z_f; always naming the most "
        f"frequent class tells {chance:.1%}."
    )


def _rows(part: dict[str, Any]) -> list[list[str]]:
    rows = []
    for representation, probes in part["probes"].items():
        cells = [mean_std([100 * value for value in found["values"]], 1) for found in probes.values()]
        rows.append([representation, *cells])
    majority = mean_std([100 * value for value in part["majority"]["values"]], 1)
    return [*rows, ["*most frequent class*", *([majority] * len(next(iter(part["probes"].values()))))]]


def _header(part: dict[str, Any]) -> list[str]:
    return ["from", *next(iter(part["probes"].values()))]


def full_page(summary: dict[str, Any]) -> str:
    """Return the page."""
    lines = [
        "# Data obfuscation: does z_h tell the label?",
        "",
        "The paper (section 4.4) says that a classifier of z_f is almost perfect on test data, and one of z_h nearly",
        "random. Here five kinds of probes learn from training rows with all of their labels; the table has their test",
        "accuracy in %, mean ± standard deviation over the models. z_h is encoded by the true label, as in the paper,",
        "and by the predicted one; with “+ z_aux” the components that h never sees are let go as well.",
        f"By the strongest probe, “almost perfect” is meant as at least {_ALMOST_PERFECT:.0%}, “nearly random” as at",
        f"most {100 * _HARDLY:.0f} points above the most frequent class.",
    ]
    for part in summary["rows"]:
        rows = part["probe_rows"]
        lines += [
            "",
            f"## {part['data']}",
            "",
            verdict(part),
            "",
            f"Models: {part['models']}, of the recipe `{part['recipe']}` with {part['labels']} labels; test error",
            f"{mean_std(part['error']['values'])} %. Probes learn from {rows['train']:,} rows and are tested on",
            f"{rows['test']:,}.",
            "",
            markdown_table(_header(part), _rows(part)),
            "",
            f"![z_f and z_h of test rows by t-SNE, coloured by class]({part['data']}.png)",
        ]
    lines += [
        "",
        "Made by `scnf reproduce obfuscation` from the records beside this page; `--render` makes it again.",
        "",
    ]
    return "\n".join(lines)


def map_figure(points: dict[str, Any], theme: Theme = LIGHT) -> Figure:
    """Return z_f beside z_h, test rows in the colours of their classes."""
    figure = new_figure(8.4, 4.4, theme)
    y = np.array(points["y"])
    for ax, (name, title) in zip(
        figure.subplots(1, 2), (("z_f", "z_f"), (_HIDDEN, "z_h, encoded by the true label")), strict=True
    ):
        z = np.array(points[name])
        z = z / z.std()  # the margin of a window is meant for such points
        draw_points(ax, z, y, limits(z), theme)
        ax.set_title(title, color=theme.ink, fontsize=11)
    return figure


def rendered(summary: dict[str, Any]) -> Rendered:
    """Return what the records say."""
    rows = [[part["data"], *row] for part in summary["rows"] for row in _rows(part)]
    lines = " ".join(verdict(part) for part in summary["rows"])
    return Rendered(summary, full_page(summary), lines, ["data", *_header(summary["rows"][0])], rows, left=2)


def render(folder: Path) -> dict[str, Any]:
    """Write table.md, table.json and the maps, and return the summary."""
    summary = summarize(folder)
    figures = []
    for part in summary["rows"]:
        first = next(folder.glob(f"{part['data']}-*.json"))
        figures.append(folder / f"{part['data']}.png")
        figures[-1].write_bytes(to_png(map_figure(read_record(first)["map"])))
    return write(rendered(summary), folder, figures)
