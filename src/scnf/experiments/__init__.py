"""Tables and figures of the paper: a name, the runs it needs, and the pages made from their records."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from scnf.errors import UserError

if TYPE_CHECKING:
    from scnf.experiments.rendering import Rendered


@dataclass(frozen=True)
class Item:
    """A table or figure: the module that makes it, what to call it, and what the paper says with it.

    ``takes`` are the options of ``scnf reproduce`` that not every experiment has.
    """

    module: str
    title: str
    claim: str
    takes: tuple[str, ...] = ()


# In the order in which all are run: the models of mnist serve later ones. Modules are imported when asked for, so that
# the command line lists these names without loading torch.
EXPERIMENTS: dict[str, Item] = {
    "table1": Item(
        "scnf.experiments.table1",
        "Table 1: moons and circles",
        "Glow as h makes fewer errors than one Gaussian per class, with Glow and with FFJORD as f.",
    ),
    "appendix-b": Item(
        "scnf.experiments.appendix_b",
        "Appendix B: SGD against EM-SGD",
        "There is no difference between the two.",
    ),
    "systems": Item(
        "scnf.experiments.systems",
        "The systems compared with",
        "SCNF makes fewer errors than the semi-supervised VAE (M1 + M2), and one flow for all classes is cheaper than "
        "one for each.",
    ),
    "mnist": Item(
        "scnf.experiments.mnist",
        "MNIST and Fashion-MNIST with 100 labels",
        "SCNF-GLOW has 1.9 % errors on MNIST at 1.145 bits/dim.",
    ),
    "ablation": Item(
        "scnf.experiments.ablation",
        "What each ingredient of the recipes for MNIST brings",
        "The paper has no such experiment.",
    ),
    "table2": Item(
        "scnf.experiments.table2",
        "Table 2: densities and objectives on MNIST",
        "Glow as h makes far fewer errors than one Gaussian per class, and fewer than M1 + M2.",
    ),
    "table3": Item(
        "scnf.experiments.table3",
        "Table 3: dimension reduction",
        "49 to 196 components of z_f serve; with 392 and 784 the model overfits and its test error collapses.",
    ),
    "appendix-a": Item(
        "scnf.experiments.appendix_a",
        "Appendix A: style transfer",
        "z_h holds the style of a digit but not its class: decoded with another label it is another digit.",
        takes=("--model",),
    ),
    "obfuscation": Item(
        "scnf.experiments.obfuscation",
        "Section 4.4: data obfuscation",
        "A classifier of z_f is almost perfect on test data, one of z_h nearly random.",
        takes=("--model",),
    ),
    "fairness": Item(
        "scnf.experiments.fairness",
        "Hiding sex in the census table",
        "The paper has no such experiment; it names obfuscation as a use.",
        takes=("--labels",),
    ),
    "complex": Item(
        "scnf.experiments.complex_data",
        "Section 5: more complex data",
        "On more complex data flows tend to ignore the label; a classification loss cures it, and methods based on "
        "altered copies do better still.",
    ),
    "ood": Item(
        "scnf.experiments.ood",
        "Out-of-distribution images and selective prediction",
        "The paper has no such experiment.",
        takes=("--model",),
    ),
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


class Recorded(Protocol):
    """What makes one record, a fit mostly: where the record goes and whether a valid one is there."""

    @property
    def record_path(self) -> Path: ...
    @property
    def minutes(self) -> float | None:
        """The time that it has; None if it ends after a number of steps."""
        ...

    def is_done(self) -> bool:
        """Return whether its record is there and of the present recipe and time."""
        ...


class Experiment(Protocol):
    """A module that runs an experiment and returns its summary."""

    def plan(self, options: Options) -> Sequence[Recorded]:
        """Return all that is to be recorded."""
        ...

    def run(self, options: Options) -> dict[str, Any]:
        """Train what has no record yet, then render everything from the records.

        The summary has ``files`` that were written, ``failures``, a sentence for each fit that failed, and ``table``,
        what to show of it all: ``columns`` and ``rows`` of text.
        """
        ...

    def rendered(self, out: Path) -> "Rendered | None":
        """Return what the records below a folder of results say, without figures; None if there are none."""
        ...


def load_experiment(name: str) -> Experiment:
    """Return the experiment of a name."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {name!r}; known are {', '.join(EXPERIMENTS)}, or all")
    return cast(Experiment, import_module(EXPERIMENTS[name].module))


def choose(kind: str, known: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    """Return the chosen names in the known order, all of them if none were chosen."""
    for name in chosen or ():
        if name not in known:
            raise UserError(f"unknown {kind} {name!r}; known are {', '.join(known)}")
    return [name for name in known if chosen is None or name in chosen]
