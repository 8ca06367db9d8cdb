"""Which files a run learns from, in a form that its folder keeps: a file that was changed since is refused."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from scnf.errors import UserError
from scnf.tables.schema import GivenKind

_CHUNK = 2**20


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class FileMark(_Strict):
    """A file, or a folder with all that is in it, and what tells whether it is still the same."""

    path: str
    bytes: Annotated[int, Field(ge=0)]
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "FileMark":
        """Return the mark of what is at a path."""
        if not path.exists():
            raise UserError(f"{path} does not exist")
        digest, size = hashlib.sha256(), 0
        for file in _files_at(path):
            if file != path:
                digest.update(f"{file.relative_to(path).as_posix()}\n{file.stat().st_size}\n".encode())
            for chunk in _chunks(file):
                digest.update(chunk)
                size += len(chunk)
        return cls(path=str(path.resolve()), bytes=size, sha256=digest.hexdigest())

    @property
    def place(self) -> Path:
        """The path, short where it lies below the current folder."""
        path, here = Path(self.path), Path.cwd()
        return path.relative_to(here) if path.is_relative_to(here) else path

    def same_content(self, other: "FileMark") -> bool:
        """Tell whether another mark is that of the same content, wherever it lies."""
        return (self.bytes, self.sha256) == (other.bytes, other.sha256)

    def check(self) -> None:
        """Refuse what is not the same any more."""
        path = self.place
        if not path.exists():
            raise UserError(f"{path}, which the run was started with, is not there any more; name it where it is now")
        if not self.same_content(FileMark.of(path)):
            raise UserError(f"{path} was changed since the run was started; a new run (another --out) learns from it")


class FileSource(_Strict):
    """Where rows come from and how they are to be understood."""

    kind: Literal["table", "images"]
    rows: FileMark
    target: str | None = None  # the column of labels; None for images in folders
    unlabeled: str | None = None
    ignored: Annotated[tuple[str, ...], Field(strict=False)] = ()
    kinds: dict[str, GivenKind] = {}
    image_size: Annotated[tuple[int, int] | None, Field(strict=False)] = None  # height, width
    image_color: bool | None = None
    test: FileMark | None = None
    test_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    calibrated: bool = True
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return Path(self.rows.path).name

    def marks(self) -> list[FileMark]:
        """Return the marks of all files."""
        return [mark for mark in (self.rows, self.test) if mark is not None]

    def arguments(self) -> list[str]:
        """Return what ``scnf fit`` is to be told to learn from the same files in the same way."""
        given = [str(self.rows.place)] if self.kind == "table" else ["--image-folder", str(self.rows.place)]
        options = {
            "--target": self.target,
            "--unlabeled": self.unlabeled,
            "--image-size": None if self.image_size is None else f"{self.image_size[0]}x{self.image_size[1]}",
            "--test": None if self.test is None else str(self.test.place),
            "--test-share": None if self.test_share is None else f"{self.test_share:g}",
            "--seed": str(self.seed),
        }
        given += [word for name, value in options.items() if value is not None for word in (name, value)]
        given += [word for name in self.ignored for word in ("--ignore", name)]
        given += [word for name, kind in self.kinds.items() for word in ("--kind", f"{name}={kind}")]
        if self.image_color is not None:
            given.append("--image-color" if self.image_color else "--image-grey")
        return given if self.calibrated else [*given, "--no-calibrate"]


def _files_at(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        # Hidden files are no images, and systems leave some of their own in folders that are looked at.
        yield from sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
