"""What commands print: JSON for programs, tables for people."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def console(json: bool = False, quiet: bool = False) -> "Console":
    """Return where to print for people: stdout, or stderr where stdout belongs to the JSON object."""
    from rich.console import Console

    return Console(stderr=json, quiet=quiet, highlight=False, markup=False)


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json.dumps(values, ensure_ascii=False))


def print_notes(sentences: Iterable[str]) -> None:
    """Print what people should know of their rows, on stderr."""
    for sentence in sentences:
        typer.echo(f"Note: {sentence}", err=True)


def pairs_table(pairs: Mapping[str, Any]) -> "Table":
    """Return a table with one line for each name and value."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in pairs.items():
        table.add_row(name, _text(value))
    return table


def rows_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> "Table":
    """Return a table with named columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        # A narrow terminal may break a header between its words, but not cut one off.
        table.add_column(name, min_width=max(map(len, name.split()), default=0))
    for row in rows:
        table.add_row(*map(_text, row))
    return table


# What metrics are called and how they are shown, in this order.
_METRICS = {
    "error": ("test error", "{:.2f} %"),
    "nll": ("test NLL", "{:.4f} nats"),
    "bits_per_dim": ("test bits/dim", "{:.4f}"),
    "ece": ("test ECE", "{:.4f}"),
    "ece_uncalibrated": ("before calibration", "{:.4f}"),
    "test_rows": ("test rows", "{:,}"),
    "test_labels": ("labelled test rows", "{:,}"),
    "unknown_labels": ("labels it cannot know", "{:,}"),
    "hidden_label_error": ("error on hidden labels", "{:.1f} %"),
    "objective": ("training objective", "{:.4f}"),
    "parameters": ("parameters", "{:,}"),
    "seconds": ("training time", "{:.1f} s"),
    "out": ("folder", "{}"),
}


def metrics_table(metrics: Mapping[str, Any]) -> "Table":
    """Return a table of the metrics that are there."""
    known = {name: metrics[name] for name in _METRICS if name in metrics}
    shown = {name: None if value is None else _METRICS[name][1].format(value) for name, value in known.items()}
    if "hidden_label_error" in shown:
        shown["hidden_label_error"] = f"{shown['hidden_label_error']} of {metrics['hidden_labels']:,}, by quick fits"
    return pairs_table({_METRICS[name][0]: text for name, text in shown.items()})


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(inner)}" for key, inner in value.items() if inner is not None)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
