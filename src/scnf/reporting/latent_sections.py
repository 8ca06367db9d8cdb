"""Where rows lie in z_f and in z_h, and how much of the label each of the two tells."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure

from scnf.errors import UserError
from scnf.evaluation.plots import new_figure
from scnf.evaluation.probes import majority_share, probe_accuracies
from scnf.evaluation.themes import LIGHT, MARKERS, Theme
from scnf.reporting.blocks import Figures, Listing, Section, Text
from scnf.reporting.judging import Judged
from scnf.reporting.material import Material, spread
from scnf.reporting.pictures import add_class_legend, picture
from scnf.reporting.telling import percent, row_count

_MOST_POINTS, _MOST_PROBED = 1000, 2000
_FEWEST_FOR_TSNE, _FEWEST = 50, 3


class _Latents(NamedTuple):
    """z_f and z_h ``[N, d]``, the label that was taken out of z_h ``[N]`` and whether it was known ``[N]``."""

    z_f: np.ndarray
    z_h: np.ndarray
    y: np.ndarray
    known: np.ndarray


def _latents(judged: Judged, rows: np.ndarray) -> _Latents:
    codes, z_f = judged.rows.codes[rows], judged.z_f[rows]
    known = codes >= 0
    y = np.where(known, codes, judged.predicted[rows])
    with torch.no_grad():
        z_h = judged.trained.exact.conditional.encode(torch.from_numpy(z_f), torch.from_numpy(y)).numpy()
    told = np.isfinite(z_f).all(1) & np.isfinite(z_h).all(1)
    return _Latents(z_f[told], z_h[told], y[told], known[told])


def latent_section(material: Material, train: Judged | None) -> Section:
    """Return z_f beside z_h, training rows in the colours of their classes."""
    title, short = "The latent map", "latent map"
    if train is None:
        return Section("latents", title, short, [Text(material.no_train, quiet=False)])
    rows = train.rows.excerpt(_MOST_POINTS)
    places = np.flatnonzero(np.isin(train.rows.numbers, rows.numbers) & train.told)
    found = _latents(train, places)
    if len(found.y) < _FEWEST:
        return Section("latents", title, short, [Text(f"{row_count(len(found.y))} make no map.", quiet=False)])
    pictures = []
    for name, z, what in (
        ("z_f", found.z_f, "what f makes of a row, which tells its class"),
        ("z_h", found.z_h, "what is left once h has taken the class out"),
    ):
        points, how = flat_map(z)
        pictures.append(
            picture(
                name,
                f"{how} of {name}: {what}.",
                partial(_map_figure, points, found.y, found.known, material.trained.classes),
            )
        )
    words = (
        f"{row_count(len(found.y))} of training, in the colours of their classes: known ones are big and have an edge, "
        "the others are predicted. In z_h the colours should be mixed."
    )
    if len(material.trained.classes) > len(LIGHT.classes):
        words += " There are more classes than colours, so some share one."
    return Section("latents", title, short, [Text(words), Figures(pictures)])


def flat_map(z: np.ndarray) -> tuple[np.ndarray, str]:
    """Return two coordinates of latents ``[N, d]`` and how they were found."""
    if z.shape[1] <= 2:
        return np.column_stack([z, np.zeros((len(z), 2 - z.shape[1]))]), "The components"
    from sklearn.decomposition import PCA  # noqa: PLC0415 (slow to import, and not always needed)

    if len(z) < _FEWEST_FOR_TSNE:
        return PCA(2).fit_transform(z), "The two main components (PCA)"
    from sklearn.manifold import TSNE  # noqa: PLC0415

    return TSNE(init="pca", random_state=0, n_jobs=1).fit_transform(z), "A t-SNE map"


def _map_figure(points: np.ndarray, y: np.ndarray, known: np.ndarray, classes: Sequence[str], theme: Theme) -> Figure:
    figure = new_figure(5.0, 5.2, theme)
    ax = figure.subplots()
    for k in np.unique(y):
        color, marker = theme.classes[k % len(theme.classes)], MARKERS[k % len(MARKERS)]
        here = (y == k) & ~known
        ax.scatter(points[here, 0], points[here, 1], s=9, color=color, alpha=0.6, linewidths=0)
        here = (y == k) & known
        style = {"color": color, "marker": marker, "edgecolors": theme.ink, "linewidths": 0.9}
        ax.scatter(points[here, 0], points[here, 1], s=44, zorder=3, **style)
    ax.set(xticks=[], yticks=[])
    ax.set_facecolor(theme.background)
    ax.spines[:].set_color(theme.quiet)
    add_class_legend(figure, classes, theme, MARKERS)
    return figure


def probe_section(material: Material, train: Judged | None, test: Judged | None) -> Section:
    """Return what probes tell of the label from z_f and from z_h."""
    title, short = "What the label cost", "label cost"

    def only(why: str) -> Section:
        return Section("label-cost", title, short, [Text(why, quiet=False)])

    judged = next((one for one in (test, train) if one is not None and len(_probed(one))), None)
    if judged is None:
        if train is None and test is None:
            return only(material.no_train)
        return only("Probes need two classes with two labelled rows each at the least, and there are fewer.")
    found = _latents(judged, _probed(judged))
    try:
        results = [probe_accuracies(z, found.y) for z in (found.z_f, found.z_h)]
    except UserError as error:  # rows that overflowed are missing
        return only(f"The label's cost cannot be told: {error}.")
    majority = majority_share(found.y)
    rows = [[of_f.probe, percent(of_f.accuracy), percent(of_h.accuracy)] for of_f, of_h in zip(*results, strict=True)]
    rows.append(["naming the largest class", percent(majority), percent(majority)])
    words = (
        "Simple classifiers (probes) try to tell the label from z_f, and from z_h, out of which it was taken. "
        "What they lose is what the label cost; in z_h they should do no better than naming the largest class. "
        f"Cross-validated on {row_count(len(found.y))} with a label, of the {judged.rows.kind} rows."
    )
    return Section(
        "label-cost",
        title,
        short,
        [Text(words), Listing(["probe", "right from z_f", "right from z_h"], rows, numbers=2)],
    )


def _probed(judged: Judged) -> np.ndarray:
    """Return labelled rows of the classes that have two of them at the least; none if there is one such class."""
    rows = np.flatnonzero((judged.rows.codes >= 0) & judged.told)
    codes, counts = np.unique(judged.rows.codes[rows], return_counts=True)
    usable = codes[counts >= 2]
    rows = rows[np.isin(judged.rows.codes[rows], usable)] if len(usable) > 1 else rows[:0]
    return spread(rows, _MOST_PROBED)
