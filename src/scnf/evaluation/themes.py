"""Colours of the plots, for light and for dark pages."""

from dataclasses import dataclass

# Okabe and Ito's palette, which most colour-blind readers can tell apart; the first two serve two classes.
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#5B5B5B", "#7B4FA3", "#A6A600")
_DARK = ("#56B4E9", "#F0894A", "#2FC39B", "#E09FC4", "#F2B632", "#8FD0F5", "#C7A769", "#B4B4B4", "#B48EDB", "#D6D64C")


@dataclass(frozen=True)
class Theme:
    """Background, text, quiet lines, unlabelled points, classes, and how strongly a class tints the background."""

    background: str
    ink: str
    quiet: str
    unlabelled: str
    classes: tuple[str, ...]
    tint: float
    paper_to_ink: str  # matplotlib's colour map for grey images


LIGHT = Theme("#ffffff", "#16191d", "#c4cad1", "#8b939c", _LIGHT, 0.20, "Greys")
DARK = Theme("#161b22", "#e8ecf1", "#3d4650", "#8d98a5", _DARK, 0.26, "gray")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
