"""How often the model is right, whether it knows, and what it takes for what."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from scnf.evaluation.metrics import bits_per_dim
from scnf.evaluation.plots import new_figure, style_axes
from scnf.evaluation.probes import majority_share
from scnf.evaluation.reliability import Reliability, reliability
from scnf.evaluation.themes import Theme
from scnf.reporting.blocks import Block, Cell, Facts, Figures, Grid, Listing, Section, Text
from scnf.reporting.judging import Judged, softmax
from scnf.reporting.material import Material
from scnf.reporting.pictures import picture
from scnf.reporting.telling import class_name, error_interval, percent, row_count

_LARGEST_GRID = 12
_MISTAKES_SHOWN = 15


def no_test_words(material: Material, test: Judged | None) -> str:
    """Return why there is nothing to measure on; nothing if there is."""
    if test is None:
        return material.no_test or material.no_train
    if not test.labelled.any():
        return "No test row has a label, so error, calibration and mistakes cannot be told."
    return ""


def quality_section(material: Material, test: Judged | None) -> Section:
    """Return error, likelihood and reliability on test rows."""
    metrics = material.metrics
    blocks: list[Block] = []
    pairs: dict[str, str] = {}
    why_not = no_test_words(material, test)
    pictures: Block | None = None
    if why_not or test is None:
        blocks.append(Text(why_not, quiet=False))
    else:
        rows, codes = test.labelled, test.rows.codes[test.labelled]
        wrong = int((test.predicted[rows] != codes).sum())
        raw = reliability(softmax(test.log_joint[rows]), codes)
        calibrated = reliability(test.probabilities[rows], codes)
        pairs["test error"] = (
            f"{percent(wrong / len(codes), 2)}: {wrong:,} of {row_count(len(codes))} with a label; rows like these "
            f"have an error of {error_interval(wrong, len(codes))} (95 % interval)"
        )
        if len(test) < test.total and metrics.get("error") is not None:
            pairs["on all test rows"] = f"{metrics['error']:.2f} %"
        pairs["naming the largest class"] = f"{percent(1 - majority_share(codes), 2)} would be wrong"
        pairs["mean confidence"] = (
            f"{percent(float(np.nanmax(test.probabilities[rows], axis=1).mean()), 2)}, and "
            f"{percent(1 - wrong / len(codes), 2)} are right"
        )
        pairs["calibration error (ECE)"] = (
            f"{percent(calibrated.ece, 2)} with the temperature, {percent(raw.ece, 2)} without"
        )
        pictures = _reliability_pictures(raw, calibrated, material.trained.temperature)
    if metrics.get("hidden_label_error") is not None:
        pairs["error on hidden labels"] = (
            f"{metrics['hidden_label_error']:.1f} % of {metrics['hidden_labels']:,} training labels that were hidden "
            "in turn from quick fits; the temperature comes from them"
        )
    if (likelihood := _likelihood_words(material, test)) is not None:
        pairs["−log p(x) of test rows"] = likelihood
    pairs["temperature"] = f"{material.trained.temperature:.3g}" + (
        " (probabilities are as the density gives them)" if material.trained.temperature == 1 else ""
    )
    blocks.append(Facts(pairs))
    if pictures is not None:
        blocks.append(pictures)
    if test is not None and test.excerpt_words and not why_not:
        blocks.append(Text(test.excerpt_words))
    return Section("error", "Error and calibration", "error", blocks)


def _likelihood_words(material: Material, test: Judged | None) -> str | None:
    """Return what the run measured on all its test rows; of others, what is seen in the excerpt."""
    nll, trained = material.metrics.get("nll"), material.trained
    if nll is None and test is not None:
        nll = -float(test.log_density.mean())
    if nll is None:
        return None
    bits = f" ({bits_per_dim(nll, trained.model.dimensions):.3f} bits per value)" if trained.levels is not None else ""
    return f"{nll:.3f} nats{bits}"


def _reliability_pictures(raw: Reliability, calibrated: Reliability, temperature: float) -> Block:
    shown = {"Reliability": ("How often rows were right, by how sure the model was of them.", raw)}
    if temperature != 1:
        shown = {
            "Before": ("How often rows were right, by how sure the density alone was of them.", raw),
            "After": (f"The same with the temperature {temperature:.3g}, as predictions have it.", calibrated),
        }
    rest = " On the line, confidence is what it says; the size of a point tells how many rows it stands for."
    return Figures(
        [picture(title, words + rest, partial(reliability_figure, found)) for title, (words, found) in shown.items()]
    )


def reliability_figure(found: Reliability, theme: Theme) -> Figure:
    """Return accuracy against confidence."""
    figure = new_figure(5.0, 3.4, theme)
    ax = figure.subplots()
    style_axes(ax, "confidence, %", "right, %", theme)
    ax.plot([0, 100], [0, 100], color=theme.unlabelled, linewidth=1, linestyle="--", zorder=1)
    x, y = 100 * found.confidence, 100 * found.accuracy
    ax.vlines(x, np.minimum(x, y), np.maximum(x, y), color=theme.classes[1], linewidth=1.6, zorder=2)
    size = 18 + 160 * found.rows / found.rows.sum()
    ax.scatter(x, y, s=size, color=theme.classes[0], edgecolors=theme.background, linewidths=0.6, zorder=3)
    low = min(float(x.min()), 50.0) - 4
    ax.set(xlim=(low, 104), ylim=(-5, 105))
    return figure


def confusion_section(material: Material, test: Judged | None) -> Section:
    """Return which classes are taken for which."""
    title, short = "Confusion matrix", "confusions"
    why_not = no_test_words(material, test)
    if why_not or test is None:
        return Section("confusion", title, short, [Text(why_not, quiet=False)])
    classes = material.trained.classes
    known = test.rows.codes >= 0
    counts = confusion_counts(test.rows.codes[known], test.predicted[known], len(classes))
    blocks: list[Block] = [
        Text(f"What is taken for what, of {row_count(int(known.sum()))} with a label. {test.excerpt_words}")
    ]
    if unknown := int((test.rows.codes == -2).sum()):
        blocks.append(Text(f"{row_count(unknown)} with a label that training did not have cannot be told rightly."))
    if len(classes) <= _LARGEST_GRID:
        blocks.append(_grid(counts, classes))
    else:
        blocks += [
            Figures(
                [
                    picture(
                        "Confusion matrix",
                        "True classes from top to bottom, predicted ones from left to right, in their order; strong: "
                        "all of a class.",
                        lambda theme: _confusion_figure(counts, theme),
                    )
                ]
            ),
            _mistakes(counts, classes),
        ]
    return Section("confusion", title, short, blocks)


def confusion_counts(truth: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return how many rows of each true class (first axis) were taken for each class ``[K, K]``."""
    counts = np.zeros((classes, classes), dtype=int)
    np.add.at(counts, (truth, predicted), 1)
    return counts


def _grid(counts: np.ndarray, classes: tuple[str, ...]) -> Grid:
    sums = counts.sum(1)
    cells = [
        [
            Cell(f"{count:,}" if count else "·", count / max(total, 1), row == column)
            for column, count in enumerate(line.tolist())
        ]
        for row, (line, total) in enumerate(zip(counts, sums.tolist(), strict=True))
    ]
    right = [percent(counts[k, k] / sums[k]) if sums[k] else "–" for k in range(len(classes))]
    return Grid("true ↓ predicted →", classes, cells, "right", right)


def _mistakes(counts: np.ndarray, classes: tuple[str, ...]) -> Block:
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MISTAKES_SHOWN]
    rows = [
        [
            class_name(classes, int(i)),
            class_name(classes, int(j)),
            f"{wrong[i, j]:,}",
            percent(wrong[i, j] / counts[i].sum()),
        ]
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j]
    ]
    return Listing(["true class", "taken for", "rows", "of the class"], rows, numbers=2)


def _confusion_figure(counts: np.ndarray, theme: Theme) -> Figure:
    figure = new_figure(4.2, 4.2, theme)
    ax = figure.subplots()
    shares = counts / counts.sum(1, keepdims=True).clip(1)
    ax.imshow(shares, cmap=theme.paper_to_ink, vmin=0, vmax=1, interpolation="nearest")
    style_axes(ax, "predicted", "true", theme)
    ax.grid(visible=False)
    ax.set(xticks=[], yticks=[])
    return figure
