"""What ``scnf fit`` understood of its options and data, told before it trains."""

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from scnf.cli.output import pairs_table
from scnf.cli.progress import in_nats
from scnf.errors import UserError
from scnf.evaluation.metrics import bits_per_dim
from scnf.files.data import FileData
from scnf.runs import NamedData, Run
from scnf.tables.schema import Column, GivenKind
from scnf.tables.table import listed
from scnf.tables.telling import kind_counts

if TYPE_CHECKING:
    from rich.table import Table

_KINDS = ("number", "integer", "category")
_MOST_CLASSES = 12
_FEW_LABELS = 3


def parse_kinds(given: list[str] | None) -> dict[str, GivenKind] | None:
    """Read ``COLUMN=KIND``."""
    if given is None:
        return None
    kinds = {}
    for item in given:
        name, equals, kind = item.rpartition("=")
        if not equals or kind not in _KINDS:
            raise UserError(f"--kind is COLUMN=number, COLUMN=integer or COLUMN=category, got {item!r}")
        kinds[name] = cast(GivenKind, kind)
    return kinds


def parse_size(given: str | None) -> tuple[int, int] | None:
    """Read ``HEIGHTxWIDTH``."""
    if given is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", given)
    if found is None or "0" in found.groups():
        raise UserError(f"--image-size is a height and a width such as 28x28, got {given!r}")
    return int(found[1]), int(found[2])


def understood(run: Run) -> "Table":
    """Return what is learned from what, for people."""
    training = run.recipe.training
    recipe = (
        f"{run.recipe.name}: {run.recipe.model.f.kind} f, {run.recipe.model.h.kind} h, "
        f"{'up to ' if training.patience is not None else ''}{training.steps:,} steps × {training.n_init} "
        f"restart{'s' if training.n_init > 1 else ''}"
        + ("" if training.max_minutes is None else f" in {training.max_minutes:g} minutes at the most")
    )
    told = _of_files(run.data) if isinstance(run.data, FileData) else _of_named(cast(NamedData, run.data))
    return pairs_table({**told, "recipe": recipe, "folder": run.path})


def warnings_of(run: Run) -> list[str]:
    """Return what makes it hard to learn from the data, in sentences."""
    data = run.data
    if not isinstance(data, FileData):
        return []
    counts = {name: int((data.codes == code).sum()) for code, name in enumerate(data.classes)}
    few = [f"{name} ({count})" for name, count in counts.items() if count < _FEW_LABELS]
    sentences = []
    if "-1" in data.classes:
        sentences.append("-1 is taken for a class; if it marks rows without a label, say so: --unlabeled -1")
    if few:
        sentences.append(f"classes with hardly a label, which are told on weak grounds: {listed(few)}")
    if data.test is None:
        sentences.append(
            "no rows are kept for a test (--test FILE or --test-share 0.2), so no test metrics will be told"
        )
    elif all(label is None for label in data.test.labels.tolist()):
        sentences.append("no test row has a label, so no test error will be told")
    if data.encoder is not None and data.test is not None:
        sentences += [f"in the test rows, {sentence}" for sentence in data.encoder.notes(data.test.x).sentences()]
    if data.encoder is not None:
        if counters := [name for name, values in data.train.x.columns.items() if _counts_rows(values)]:
            sentences.append(f"columns that only count the rows should be left out (--ignore): {listed(counters)}")
        constant = [column.name for column in data.encoder.schema.columns if column.kind == "constant"]
        if constant:
            sentences.append(f"columns with one value alone tell nothing: {listed(constant)}")
    return sentences


def _counts_rows(values: np.ndarray) -> bool:
    """Tell a column of whole numbers that grows from row to row."""
    return values.dtype == np.int64 and len(values) > 1 and bool((np.diff(values) > 0).all())


def likelihood_of(run: Run) -> Callable[[float], str]:
    """Return how the likelihood of a run's rows is shown while it trains."""
    data = run.data.training()
    if isinstance(run.data, FileData) and run.data.encoder is not None:
        # The model tells encoded rows, people have theirs in the units of their table; all rows stand for those aside.
        volume = float(run.data.encoder.encode_with_volume(run.data.train.x, seed=0).log_volume.mean())
        return lambda nll: in_nats(nll - volume)
    if data.levels is None:
        return in_nats
    dimensions, levels = math.prod(data.shape), data.levels
    # The model's unit is 1/levels of the data's.
    return lambda nll: f"{bits_per_dim(nll + dimensions * math.log(levels), dimensions):.3f} bits/dim"


def wait_of(run: Run) -> str:
    """Return what the first step of a run waits for, for a minute or two if the rows are many."""
    training, hidden = run.recipe.training, run.data.training().y < 0
    waits = {
        "spreading labels along neighbours": (training.guess > 0 or training.start == "graph") and bool(hidden.any()),
        "translating the model to machine code": training.compile,
    }
    return " and ".join(what for what, comes in waits.items() if comes).capitalize()


def _of_named(data: NamedData) -> dict[str, Any]:
    split = data.split
    shape = "×".join(map(str, split.x_train.shape[1:]))
    kind = "continuous" if split.levels is None else f"integers 0 to {split.levels - 1}"
    return {
        "data": f"{split.name}, seed {split.seed}: {len(split.classes)} classes ({', '.join(split.classes)})",
        "rows": f"{len(split.x_train):,} to train on, {len(split.x_test):,} to test; {shape} values, {kind}",
        "labels": f"{split.labelled:,} known, {len(split.x_train) - split.labelled:,} hidden",
    }


def _of_files(data: FileData) -> dict[str, Any]:
    rows, labelled = len(data.codes), data.labelled
    told = {"data": f"{data.source.name}, seed {data.source.seed}", "rows": f"{rows:,} to learn from"}
    if data.test is not None:
        with_label = sum(label is not None for label in data.test.labels.tolist())
        told["rows"] += f", {len(data.test.labels):,} to test on ({with_label:,} with a label)"
    if data.encoder is not None:
        told["columns"] = _columns(data.encoder.schema.columns)
    if data.images is not None:
        channels, height, width = data.images.channels_first
        color = {1: "grey", 3: "in colour"}.get(channels, f"of {channels} channels")
        told["images"] = f"{height}×{width} pixels, {color}, values 0 to {data.images.levels - 1}"
    target = "" if data.source.target is None else f" of {data.source.target!r}"
    counts = [(int((data.codes == code).sum()), name) for code, name in enumerate(data.classes)]
    if len(counts) > _MOST_CLASSES:
        shown = f"{min(counts)[0]:,} to {max(counts)[0]:,} labels each"
    else:
        shown = ", ".join(f"{name} {count:,}" for count, name in counts)
    told["classes"] = f"{len(counts)}{target}: {shown}"
    told["labels"] = f"{labelled:,} of {rows:,} rows ({100 * labelled / rows:.3g} %)"
    return told


def _columns(columns: tuple[Column, ...]) -> str:
    if len(columns) <= 2 * _MOST_CLASSES:
        return f"{len(columns)}: " + ", ".join(f"{column.name} ({_kind(column)})" for column in columns)
    return kind_counts(columns)


def _kind(column: Column) -> str:
    if column.kind == "category":
        kinds = len(column.values) - (None in column.values)
        return f"{kinds} categories" + (", gaps" if None in column.values else "")
    words = {"number": "number", "integer": "whole number", "constant": "constant"}[column.kind]
    return words + (", gaps" if column.missing else "")
