"""The parts that sections of a page are made of; the template knows how each looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from scnf.reporting.pictures import Picture


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    look: ClassVar[str] = "text"
    text: str
    quiet: bool = True


@dataclass(frozen=True)
class Figures:
    """Pictures beside one another, under one another on a phone."""

    look: ClassVar[str] = "figures"
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Listing:
    """A table; ``numbers`` counts its last columns, which stand at the right."""

    look: ClassVar[str] = "listing"
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""  # if there is one, the table is folded away under it
    numbers: int = 0
    prose: bool = False  # whether its last column holds long text


@dataclass(frozen=True)
class Tile:
    """A small image with lines of text below it."""

    image: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Gallery:
    """Small images."""

    look: ClassVar[str] = "gallery"
    tiles: Sequence[Tile]
    wide: bool = False  # one strip of images a line


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    look: ClassVar[str] = "facts"
    pairs: dict[str, str]


@dataclass(frozen=True)
class Code:
    """Text to be copied; ``title`` folds it away."""

    look: ClassVar[str] = "code"
    text: str
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """A number of a grid and how strongly it is tinted, 0 to 1; what should be high is told from what should not."""

    text: str
    tint: float
    good: bool


@dataclass(frozen=True)
class Grid:
    """Numbers by two lists of names, tinted: a confusion matrix."""

    look: ClassVar[str] = "grid"
    corner: str
    names: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    last_column: str
    last: Sequence[str]


Block = Text | Figures | Listing | Gallery | Facts | Code | Grid


@dataclass(frozen=True)
class Section:
    """A part of the page with its own title, to which links lead; ``short`` is what they say."""

    key: str
    title: str
    short: str
    blocks: Sequence[Block] = field(default_factory=tuple)
