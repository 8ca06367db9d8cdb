"""The census table without sex as a page, made from its records alone."""

from pathlib import Path
from typing import Any

from scnf.errors import UserError
from scnf.evaluation.records import read_record
from scnf.evaluation.tables import markdown_table, mean_std
from scnf.experiments.rendering import TABLE, Rendered, root_of, write

PAGE = "docs/fairness.md"
# Sex recovered and income told by others on the same task, as published.
_RAW = "encoded rows, nothing hidden"
PUBLISHED = {"raw data": (0.80, 0.85), "VFAE": (0.68, 0.815), "CoMP": (0.68, 0.805)}
AIM = (0.70, 0.82)
_HEADER = ["what is let go", "sex recovered", "AUC", "income told", "parity difference", "odds difference", "seeds"]
_KEYS = (
    "strongest", "strongest_auc", "task_accuracy", "demographic_parity_difference", "equalized_odds_difference"
)  # fmt: skip


def summarize(folder: Path) -> dict[str, Any]:
    """Return the measures of each number of known values, and of the raw data."""
    records = [read_record(path) for path in sorted(folder.glob("*.json")) if path.name != TABLE]
    if not records:
        raise UserError(f"{folder} holds no record; leave out --render to train first")
    kinds = sorted({record["data"]["known"] for record in records}, key=lambda known: (known != "all", known))
    return {
        "experiment": "fairness",
        "raw": [record["raw"] for record in records if record["raw"] is not None],
        "hidden": {k: [record["hidden"] for record in records if record["data"]["known"] == k] for k in kinds},
        "predicted": {
            k: [r["metrics"]["predicted_protected"] for r in records if r["data"]["known"] == k] for k in kinds
        },
        "rows": records[0]["rows"],
        "cpu_seconds": {k: [r["cpu_seconds"] for r in records if r["data"]["known"] == k] for k in kinds},
    }


def _cells(measured: list[dict[str, Any]]) -> list[str]:
    return [*(mean_std([one[key] for one in measured], 3) for key in _KEYS), str(len(measured))]


def _name(known: str) -> str:
    return "z_h, sex of all rows known" if known == "all" else f"z_h, sex of {known} rows known"


def _rows(summary: dict[str, Any]) -> list[list[str]]:
    majority = next(iter(summary["hidden"].values()))[0]
    most = [f"{majority[key]:.3f}" for key in ("protected_majority", "task_majority")]
    published = [
        [f"*{name} (published)*", f"{sex:.3f}", "–", f"{income:.3f}", "–", "–", ""]
        for name, (sex, income) in PUBLISHED.items()
    ]
    return [
        *([[_RAW, *_cells(summary["raw"])]] if summary["raw"] else []),
        *([_name(known), *_cells(measured)] for known, measured in summary["hidden"].items()),
        ["*most frequent value*", most[0], "0.500", most[1], "0.000", "0.000", ""],
        *published,
    ]


def verdict(summary: dict[str, Any]) -> str:
    """Return whether the aim is reached with all values known, in one line."""
    measured = summary["hidden"].get("all")
    if not measured:
        return "The aim is for all values of sex known, of which there is no record."
    sex, income = (sum(one[key] for one in measured) / len(measured) for key in ("strongest", "task_accuracy"))
    reached = sex <= AIM[0] and income >= AIM[1]
    return (
        f"**The aim is {'reached' if reached else 'not reached'}**: the strongest probe recovers sex of {sex:.1%} of "
        f"the test rows (aim: at most {AIM[0]:.0%}), and income is told of {income:.1%} (aim: at least {AIM[1]:.0%}); "
        f"{len(measured)} seed{'s' * (len(measured) > 1)}."
    )


def block(summary: dict[str, Any]) -> str:
    """Return the table and what it says, for the docs."""
    return f"{verdict(summary)}\n\n{markdown_table(_HEADER, _rows(summary))}"


def full_page(summary: dict[str, Any]) -> str:
    """Return the page."""
    by_probe = [(_RAW, measured) for measured in summary["raw"][:1]]
    by_probe += [(_name(known), measured[0]) for known, measured in summary["hidden"].items()]
    probes = list(by_probe[0][1]["recovery"])
    rows = [
        [name, what, *(f"{measured[key][probe]:.3f}" for probe in probes)]
        for name, measured in by_probe
        for what, key in (("accuracy", "recovery"), ("AUC", "recovery_auc"))
    ]
    told = ", ".join(f"{k} known: {mean_std(values, 3)}" for k, values in summary["predicted"].items())
    seconds = ", ".join(f"{k} known: {mean_std(values, 0)}" for k, values in summary["cpu_seconds"].items())
    return "\n".join(
        [
            "# Hiding sex in the census table",
            "",
            f"{summary['rows']['train']:,} training and {summary['rows']['test']:,} test rows, the published files.",
            "Probes of five kinds learn from what is let go of the training rows. “Sex recovered” is the test accuracy",
            "of the best of them, “income told” and fairlearn's differences those of gradient boosting. Before hiding,",
            "rows are encoded: numbers in cells, names as numbers, without the columns education (another one says the",
            "same) and fnlwgt. The published rows had data of their own making.",
            "",
            block(summary),
            "",
            "Each probe, first seed:",
            "",
            markdown_table(["what is let go", "sex told", *probes], rows, left=2),
            "",
            f"The model's own prediction of sex from the other columns is right for {told}.",
            f"CPU seconds of a fit: {seconds}.",
            "",
            "Made by `scnf reproduce fairness` from the records beside this page; `--render` makes it again.",
            "",
        ]
    )


def rendered(summary: dict[str, Any]) -> Rendered:
    """Return what the records say."""
    return Rendered(
        summary,
        full_page(summary),
        verdict(summary),
        _HEADER,
        _rows(summary),
        block_page=PAGE,
        block=block(summary),
    )


def render(folder: Path) -> dict[str, Any]:
    """Write table.md and table.json, bring the docs up to date, and return the summary."""
    root = root_of(folder.parent)
    return write(rendered(summarize(folder)), folder, block_page=None if root is None else root / PAGE)
