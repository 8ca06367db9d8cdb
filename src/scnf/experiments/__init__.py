"""Tables and figures of the paper: a name, the runs it needs, and the pages made from their records."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from scnf.errors import UserError

# Imported when asked for: the command line lists these names without loading torch.
EXPERIMENTS: dict[str, str] = {
    "table1": "scnf.experiments.table1",
    "table2": "scnf.experiments.table2",
    "mnist": "scnf.experiments.mnist",
    "systems": "scnf.experiments.systems",
    "obfuscation": "scnf.experiments.obfuscation",
    "fairness": "scnf.experiments.fairness",
}


@dataclass(frozen=True)
class Options:
    """What to run and where the records go; None leaves it to the experiment, for rows and data sets it means all.

    ``minutes`` is the time for each fit. ``data_dir`` says where the data are on this machine. ``model`` is a trained
    one, for an experiment that needs no fit of its own, and ``labels`` how many are known, where that can be chosen.
    """

    splits: int | None = None
    jobs: int = 2
    out: Path = Path("results")
    recipes: Sequence[str] | None = None
    data: Sequence[str] | None = None
    render_only: bool = False
    minutes: float | None = None
    data_dir: Path | None = None
    model: str | None = None
    labels: str | None = None


class Experiment(Protocol):
    """A module that runs an experiment and returns its summary."""

    def run(self, options: Options) -> dict[str, Any]:
        """Train what has no record yet, then render everything from the records.

        The summary has ``files`` that were written, ``failures``, a sentence for each fit that failed, and ``table``,
        what to show of it all: ``columns`` and ``rows`` of text.
        """
        ...


def load_experiment(name: str) -> Experiment:
    """Return the experiment of a name."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {name!r}; known are {', '.join(EXPERIMENTS)}")
    return cast(Experiment, import_module(EXPERIMENTS[name]))


def choose(kind: str, known: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    """Return the chosen names in the known order, all of them if none were chosen."""
    for name in chosen or ():
        if name not in known:
            raise UserError(f"unknown {kind} {name!r}; known are {', '.join(known)}")
    return [name for name in known if chosen is None or name in chosen]
