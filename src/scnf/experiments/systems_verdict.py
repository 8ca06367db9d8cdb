"""Whether three claims about SCNF beside other systems hold in the records, a sentence for each."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scnf.experiments.systems import LABELS, SHAPES

OURS, VAE, PER_CLASS, SEQUENTIAL = "scnf", "m1-m2", "flow-per-class", "autoregressive"
# Timings and the memory of a process are rough: half of what K would bring still counts as in proportion to K.
_ROUGHLY = 0.5


def verdicts(summary: Mapping[str, Any], costs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the sentences on errors, on what classes cost and on the speed of sampling."""
    return [errors_verdict(summary), cost_verdict(costs), sampling_verdict(summary)]


def errors_verdict(summary: Mapping[str, Any]) -> str:
    """Return on which data SCNF has fewer errors than M1 + M2."""
    claim = "SCNF makes fewer errors than M1 + M2"
    errors = {(row["data"], row["system"]): row["error"]["mean"] for row in summary["rows"]}
    pairs = _pairs(errors, VAE)
    if not pairs:
        return f"{claim}: not put to the test yet."
    fewer = {data: ours < theirs for data, (ours, theirs) in pairs.items()}
    return f"{claim}: {_told(fewer, 'on')}, in this time."


def sampling_verdict(summary: Mapping[str, Any]) -> str:
    """Return on which data the autoregressive flow samples slower than SCNF, and by how much."""
    claim = "An autoregressive flow samples one component after the other and so slower than SCNF"
    speeds = {(row["data"], row["system"]): row["samples_per_second"] for row in summary["rows"]}
    pairs = _pairs(speeds, SEQUENTIAL)
    if not pairs:
        return f"{claim}: not put to the test yet."
    slower = {_with_factor(data, ours, theirs): theirs < ours for data, (ours, theirs) in pairs.items()}
    return f"{claim}: {_told(slower, 'on')}."


class Growth(NamedTuple):
    """What more classes cost a system: how many times as many there are, as long a step takes, and MiB a class."""

    classes: float
    step: float
    memory: float
    steady: bool  # whether later classes take about as much memory as the first ones


def growth_of(costs: Sequence[Mapping[str, Any]], system: str) -> Growth | None:
    """Return how a system grows from its smallest number of classes to its largest; None if it has but one."""
    rows = sorted((row for row in costs if row["system"] == system), key=lambda row: row["classes"])
    if len(rows) < 2:
        return None
    first, *later = rows
    # What torch itself takes is in every process, so the memory that a further class adds says more than all of it.
    added = [(row["memory_mib"] - first["memory_mib"]) / (row["classes"] - first["classes"]) for row in later]
    return Growth(
        classes=later[-1]["classes"] / first["classes"],
        step=later[-1]["step_ms"] / first["step_ms"],
        memory=added[-1],
        steady=added[-1] >= _ROUGHLY * added[0],
    )


def cost_verdict(costs: Sequence[Mapping[str, Any]]) -> str:
    """Return whether time and memory grow in proportion to K with one flow per class, and not with SCNF.

    Each system is compared with itself at the smallest K, so that it does not matter how large one flow is.
    """
    claim = "One flow per class costs time and memory in proportion to K, SCNF does not"
    ours, theirs = growth_of(costs, OURS), growth_of(costs, PER_CLASS)
    if ours is None or theirs is None:
        return f"{claim}: not measured yet."
    holds = {
        "time": ours.step < _ROUGHLY * theirs.classes <= theirs.step,
        "memory": theirs.steady and ours.memory < _ROUGHLY * theirs.memory,
    }
    return (
        f"{claim}: {_told(holds, 'for')}. With {theirs.classes:g} times the classes, a step takes "
        f"{_times(theirs.step)} times as long (SCNF's {_times(ours.step)}); each class adds {theirs.memory:.2g} MiB "
        f"(SCNF's {ours.memory:.2g})."
    )


def ratio_at_one_class(costs: Sequence[Mapping[str, Any]]) -> float | None:
    """Return how many times as long a step of one flow per class takes where K = 1; None if that was not measured."""
    steps = {row["system"]: row["step_ms"] for row in costs if row["classes"] == 1}
    return steps[PER_CLASS] / steps[OURS] if steps.keys() >= {OURS, PER_CLASS} else None


def _pairs(values: Mapping[tuple[str, str], float | None], rival: str) -> dict[str, tuple[float, float]]:
    """Return ours and the rival's value for every data set that has both."""
    pairs = {data: (values.get((data, OURS)), values.get((data, rival))) for data in LABELS}
    return {data: (ours, other) for data, (ours, other) in pairs.items() if ours is not None and other is not None}


def _told(holds: Mapping[str, bool], preposition: str) -> str:
    words = {True: "holds", False: "does not hold"}
    names = {held: [name for name in holds if holds[name] is held] for held in words}
    return " and ".join(f"{words[held]} {preposition} {', '.join(names[held])}" for held in words if names[held])


def _with_factor(data: str, ours: float, theirs: float) -> str:
    change = f"{_times(ours / theirs)} times slower" if theirs < ours else f"{_times(theirs / ours)} times faster"
    return f"{data} ({math.prod(SHAPES[data])} components: {change})"


def _times(factor: float) -> str:
    return f"{factor:.1f}" if factor < 10 else f"{factor:.0f}"
