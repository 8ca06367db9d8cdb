"""What the model learned from."""

import numpy as np

from scnf.data.labels import UNLABELED
from scnf.evaluation.trained import describe
from scnf.reporting.blocks import Block, Facts, Listing, Section, Text
from scnf.reporting.judging import Judged
from scnf.reporting.material import Material, RowSet
from scnf.reporting.telling import counts_of, percent
from scnf.tables.table import listed
from scnf.tables.telling import column_words, kind_counts

_MOST_CLASSES = 40


def data_section(material: Material, train: Judged | None) -> Section:
    """Return rows, labels, classes and columns."""
    trained = material.trained
    told, model = describe(trained), trained.model
    pairs = {"data": material.data_name or "not named in the model's file"}
    if material.train is not None:
        pairs["rows to learn from"] = _with_labels(material.train)
    elif trained.data.get("rows") is not None:
        pairs["rows to learn from"] = f"{trained.data['rows']:,}, {trained.data['labels']:,} of them with a label"
    elif told["labels"] is not None:
        pairs["labels to learn from"] = f"{told['labels']:,}"
    if material.test is not None:
        pairs["rows to test on"] = _with_labels(material.test)
    if trained.table is not None:
        pairs["columns"] = kind_counts(trained.table.columns)
    elif len(model.shape) == 3:
        channels, height, width = model.shape
        color = {1: "grey", 3: "in colour"}.get(channels, f"of {channels} channels")
        pairs["images"] = f"{height}×{width} pixels, {color}" + (
            "" if trained.levels is None else f", values 0 to {trained.levels - 1}"
        )
    else:
        pairs["columns"] = f"{model.dimensions} numbers"
    target = trained.data.get("target")
    pairs["classes"] = f"{len(trained.classes)}{f' of “{target}”' if target else ''}: {listed(trained.classes)}"
    blocks: list[Block] = [Facts(pairs)]
    if material.train is None:
        blocks.insert(0, Text(material.no_train, quiet=False))
    blocks += _classes(material, train)
    if trained.table is not None:
        blocks.append(
            Listing(
                ["column", "kind", "what it holds"],
                [column_words(column) for column in trained.table.columns],
                title="All columns",
                prose=True,
            )
        )
    return Section("data", "The data", "data", blocks)


def _with_labels(rows: RowSet) -> str:
    labelled = int((rows.codes != UNLABELED).sum())
    if labelled == len(rows):
        return f"{len(rows):,}, all of them with a label"
    return f"{len(rows):,}, {labelled:,} of them with a label ({percent(labelled / max(len(rows), 1))})"


def _classes(material: Material, train: Judged | None) -> list[Block]:
    """Return how many rows each class has, and how many the model believes it to have."""
    classes = material.trained.classes
    columns: dict[str, list[str]] = {}
    if material.train is not None:
        columns["training labels"] = [f"{count:,}" for count in counts_of(material.train.codes, len(classes))]
    if material.test is not None:
        columns["test labels"] = [f"{count:,}" for count in counts_of(material.test.codes, len(classes))]
    if train is not None and (hidden := train.told & ~train.labelled).any():
        shares = np.bincount(train.predicted[hidden], minlength=len(classes)) / hidden.sum()
        columns["predicted, of rows without a label"] = [percent(share) for share in shares]
    if not columns:
        return []
    rows = [[name, *values] for name, *values in zip(classes, *columns.values(), strict=True)]
    title = f"All {len(classes)} classes" if len(classes) > _MOST_CLASSES else ""
    return [Listing(["class", *columns], rows, title=title, numbers=len(columns))]
