"""Single rows: the least certain, the least usual, and those to label next."""

from collections.abc import Sequence

import numpy as np

from scnf.data.labels import UNLABELED
from scnf.evaluation.labelling import expected_wrong, label_next
from scnf.modelfile import TrainedModel
from scnf.reporting.blocks import Block, Section, Text
from scnf.reporting.judging import Judged
from scnf.reporting.material import Material, spread
from scnf.reporting.shown_rows import COLUMNS_SHOWN, shown_rows, telling_columns, value_words
from scnf.reporting.telling import certainty, class_name, percent

ROWS_SHOWN = 12
_MOST_CANDIDATES = 2000
_HARDLY = 0.05  # mistakes mended: fewer are not worth a label
_USUAL = 3.0  # spreads from the middle


def uncertain_section(material: Material, judged: Sequence[Judged]) -> Section:
    """Return rows without a training label whose two best classes are closest."""
    title, short = "The most uncertain rows", "uncertain rows"
    if len(material.trained.classes) < 2:
        return Section("uncertain", title, short, [Text("With one class alone the model is sure of every row.")])
    pools = [(one, np.flatnonzero(one.told & ((one.rows.kind == "test") | ~one.labelled))) for one in judged]
    choice = _lowest([(one, rows, one.probabilities.max(1)[rows]) for one, rows in pools])
    if not choice:
        why = material.no_train or "Every row has a label, and there are no test rows."
        return Section("uncertain", title, short, [Text(why, quiet=False)])
    facts: dict[str, list[str]] = {"rows": [], "says": [], "or": [], "true": []}
    for one, row in choice:
        shares = one.probabilities[row]
        first, second = np.argsort(-shares, kind="stable")[:2].tolist()
        facts["rows"].append(one.rows.kind)
        facts["says"].append(f"{class_name(material.trained.classes, first)} {certainty(shares[first])}")
        facts["or"].append(f"{class_name(material.trained.classes, second)} {certainty(shares[second])}")
        facts["true"].append(class_name(material.trained.classes, int(one.rows.codes[row])))
    return Section(
        "uncertain",
        title,
        short,
        [
            Text(
                "Rows without a training label whose most probable class is least probable, by calibrated "
                "probabilities."
                + (
                    ""
                    if material.images
                    else " Rows are counted from 1; the columns are those in which the classes differ most."
                )
            ),
            shown_rows(material, choice, _worth_showing(facts), _columns(material, judged)),
            *_excerpts(judged),
        ],
    )


def unusual_section(material: Material, judged: Sequence[Judged]) -> Section:
    """Return the rows with the lowest density, and what stands out in them."""
    title, short = "The most unusual rows", "unusual rows"
    choice = _lowest([(one, np.arange(len(one)), one.log_density) for one in judged])
    if not choice:
        return Section("unusual", title, short, [Text(material.no_train, quiet=False)])
    trained = material.trained
    facts: dict[str, list[str]] = {"rows": [], "log p(x)": [], "less likely than": [], "says": []}
    if trained.table is not None:
        facts["stands out"] = []
    for one, row in choice:
        density = float(one.log_density[row])
        facts["rows"].append(one.rows.kind)
        facts["log p(x)"].append(f"{density:.4g}")
        below = float(np.mean(np.array(trained.densities) > density)) if trained.densities else None
        facts["less likely than"].append("" if below is None else percent(below))
        facts["says"].append(class_name(trained.classes, int(one.predicted[row])))
        if trained.table is not None:
            facts["stands out"].append(_stands_out(trained, one, row))
    intro = "Rows that are least likely under the model, in the data's own units: mistakes in the data, or news."
    if trained.densities:
        outliers = [int((one.log_density < trained.outlier_density(0.01)).sum()) for one in judged]
        kinds = ", ".join(
            f"{count:,} of {len(one):,} {one.rows.kind} rows" for count, one in zip(outliers, judged, strict=True)
        )
        intro += f" Less likely than all but 1 % of the training rows are {kinds}."
    columns = [] if trained.table is not None else _columns(material, judged)
    return Section(
        "unusual",
        title,
        short,
        [
            Text(intro),
            shown_rows(material, choice, _worth_showing(facts), columns, prose=trained.table is not None),
            *_excerpts(judged),
        ],
    )


def label_next_section(material: Material, train: Judged | None) -> Section:
    """Return the rows without a label whose labels are worth most."""
    title, short = "What to label next", "label next"

    def only(why: str) -> Section:
        return Section("label-next", title, short, [Text(why, quiet=False)])

    if train is None:
        return only(material.no_train)
    if len(material.trained.classes) < 2:
        return only("With one class alone there is nothing to choose: every row belongs to it.")
    candidates = np.flatnonzero(train.told & ~train.labelled & np.isfinite(train.z_f).all(1))
    if not len(candidates):
        return only("Every row that was learned from has a label already.")
    candidates = spread(candidates, _MOST_CANDIDATES)
    wrong = expected_wrong(train.probabilities[candidates])
    found = label_next(train.z_f[candidates], wrong, ROWS_SHOWN)
    assert material.train is not None
    hidden = int((material.train.codes == UNLABELED).sum())
    scale = hidden / len(candidates)
    facts: dict[str, list[str]] = {"gain": [], "may be wrong": [], "says": []}
    for row, gain in zip(found.rows, found.gains, strict=True):
        facts["gain"].append(f"{scale * gain:.2g}")
        facts["may be wrong"].append(certainty(wrong[row]))
        facts["says"].append(class_name(material.trained.classes, int(train.predicted[candidates[row]])))
    blocks: list[Block] = [
        Text(
            "The criterion is the number of mistakes that a label is expected to mend (“gain”): the probability that "
            "the model is wrong about the row, and about each row near it in z_f that has no label either, as far as "
            "they are alike. What the rows above it in the list mend is not counted again, so near-duplicates are "
            "passed over: label from the top. It takes the probabilities at their word; it is a guide, not a promise."
        ),
        shown_rows(
            material,
            [(train, int(candidates[row])) for row in found.rows],
            facts,
            _columns(material, [train]),
        ),
    ]
    if scale * found.gains.max() < _HARDLY:
        blocks.insert(1, Text("The model is sure of nearly every row: more labels would change little.", quiet=False))
    if len(candidates) < hidden:
        blocks.append(
            Text(
                f"Chosen among {len(candidates):,} of {hidden:,} rows without a label, evenly spread; gains count all."
            )
        )
    return Section("label-next", title, short, blocks)


def _lowest(pools: Sequence[tuple[Judged, np.ndarray, np.ndarray]]) -> list[tuple[Judged, int]]:
    """Return the rows with the lowest values in all pools."""
    found = [
        (float(value), number, int(row))
        for number, (_, rows, values) in enumerate(pools)
        for row, value in zip(rows, values, strict=True)
    ]
    return [(pools[number][0], row) for _, number, row in sorted(found)[:ROWS_SHOWN]]


def _worth_showing(facts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the facts that are there and differ between sets of rows at all."""
    return {
        name: values for name, values in facts.items() if any(values) and not (name == "rows" and len(set(values)) < 2)
    }


def _columns(material: Material, judged: Sequence[Judged]) -> list[str]:
    return [] if material.images else telling_columns(material.trained, judged[0], COLUMNS_SHOWN)


def _excerpts(judged: Sequence[Judged]) -> list[Block]:
    words = " ".join(one.excerpt_words for one in judged if one.excerpt_words)
    return [Text(words)] if words else []


def _stands_out(trained: TrainedModel, one: Judged, row: int) -> str:
    """Return the values that are furthest from the middle of their columns, which are about normal when encoded."""
    table = one.rows.columns()
    z = trained.encoder.encode(one.rows.x[np.array([row])], seed=None)[0]
    far = np.argsort(-np.abs(z), kind="stable")[:2]
    names = dict.fromkeys(trained.encoder.component_columns[i] for i in far if abs(z[i]) > _USUAL)
    words = ", ".join(f"{name} = {value_words(table, name, row)}" for name in names)
    return words or "no single value, but how they go together"
