"""Rows that the model draws for each class, beside real ones."""

import numpy as np
from matplotlib.figure import Figure

from scnf.evaluation.plots import new_figure, style_axes
from scnf.evaluation.themes import Theme
from scnf.modelfile import TrainedModel
from scnf.reporting.blocks import Block, Figures, Gallery, Listing, Section, Text, Tile
from scnf.reporting.judging import Judged
from scnf.reporting.material import Material, spread
from scnf.reporting.pictures import Picture, add_class_legend, image_uri, picture
from scnf.reporting.shown_rows import COLUMNS_SHOWN, telling_columns, value_words
from scnf.reporting.toys import toy_pictures
from scnf.tables import Table

_MOST_CLASSES = 20
_IMAGES, _ROWS, _POINTS = 10, 3, 400


def sample_section(material: Material, train: Judged | None) -> Section:
    """Return samples of each class: strips of images, rows of a table, or points."""
    trained = material.trained
    classes = trained.classes[:_MOST_CLASSES]
    blocks: list[Block] = []
    if len(trained.classes) > _MOST_CLASSES:
        blocks.append(Text(f"The first {_MOST_CLASSES} of {len(trained.classes)} classes."))
    if material.images:
        blocks += _strips(trained, classes, train)
    elif material.split is not None:
        blocks.append(Figures(toy_pictures(trained.model, material.split)))
    else:
        blocks += _tables(trained, classes, train)
    return Section("samples", "What the model draws", "samples", blocks)


def _strips(trained: TrainedModel, classes: tuple[str, ...], train: Judged | None) -> list[Block]:
    levels, tiles = trained.levels or 256, []
    for code, name in enumerate(classes):
        tiles.append(Tile(image_uri(trained.sample(_IMAGES, name)[0], levels), [f"{name}: samples"]))
        if train is not None and len(real := np.flatnonzero(train.rows.codes == code)[:_IMAGES]):
            tiles.append(Tile(image_uri(np.asarray(train.rows.x[real]), levels), [f"{name}: real"]))
    words = f"{_IMAGES} images drawn for each class" + (", and labelled training images beside them." if train else ".")
    return [Text(words), Gallery(tiles, wide=True)]


def _tables(trained: TrainedModel, classes: tuple[str, ...], train: Judged | None) -> list[Block]:
    drawn = {name: _table(trained.sample(_ROWS, name)[0]) for name in classes}
    if train is None:
        columns = list(next(iter(drawn.values())).names)[:COLUMNS_SHOWN]
    else:
        columns = telling_columns(trained, train)
    rows = [
        [name, *(value_words(table, column, row) for column in columns)]
        for name, table in drawn.items()
        for row in range(len(table))
    ]
    blocks: list[Block] = [
        Text(f"{_ROWS} rows drawn for each class, in the columns in which the classes differ most."),
        Listing(["drawn for", *columns], rows),
    ]
    if train is not None and (pictures := _scatters(trained, train)):
        blocks.append(Figures(pictures))
    return blocks


def _table(x: object) -> Table:
    return x if isinstance(x, Table) else Table.of(np.asarray(x))


def _scatters(trained: TrainedModel, train: Judged) -> list[Picture]:
    """Return real rows beside drawn ones, in the two columns of numbers in which the classes differ most."""
    real = train.rows.columns()
    numbers = [
        name for name in telling_columns(trained, train, len(real.names)) if real.columns[name].dtype.kind in "fi"
    ][:2]
    if len(numbers) < 2:
        return []
    sampled, names = trained.sample(_POINTS)
    code_of = {name: code for code, name in enumerate(trained.classes)}
    drawn, drawn_codes = _table(sampled), np.array([code_of[name] for name in names.tolist()])
    rows = spread(np.arange(len(train)), _POINTS)
    points = np.column_stack([real.columns[name][rows].astype(float) for name in numbers])
    others = np.column_stack([drawn.columns[name].astype(float) for name in numbers])
    # A sample that is far off would press all real rows into a corner.
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    pad = 0.08 * np.where(high > low, high - low, 1.0)
    window = (low - pad, high + pad)
    codes = np.where(train.rows.codes >= 0, train.rows.codes, train.predicted)[rows]
    outside = int((((others < window[0]) | (others > window[1])).any(1)).sum())
    left_out = f" {outside} lie outside of the picture." if outside else ""
    return [
        picture(
            "Real rows",
            f"{len(rows)} training rows in the colours of their known or predicted classes.",
            lambda theme: _scatter_figure(points, codes, numbers, window, trained.classes, theme),
        ),
        picture(
            "Drawn rows",
            f"{_POINTS} rows drawn from the model, in the colours of the classes they were drawn for.{left_out}",
            lambda theme: _scatter_figure(others, drawn_codes, numbers, window, trained.classes, theme),
        ),
    ]


def _scatter_figure(
    points: np.ndarray,
    codes: np.ndarray,
    names: list[str],
    window: tuple[np.ndarray, np.ndarray],
    classes: tuple[str, ...],
    theme: Theme,
) -> Figure:
    figure = new_figure(5.0, 4.2, theme)
    ax = figure.subplots()
    style_axes(ax, names[0], names[1], theme)
    for k in np.unique(codes):
        x, y = points[codes == k].T
        ax.scatter(x, y, s=11, color=theme.classes[k % len(theme.classes)], alpha=0.75, linewidths=0)
    (left, bottom), (right, top) = window
    ax.set(xlim=(left, right), ylim=(bottom, top))
    add_class_legend(figure, classes, theme)
    return figure
