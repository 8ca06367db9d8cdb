"""The files of a run folder, and how they get there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from scnf.errors import UserError
from scnf.jsonfile import read_json
from scnf.recipes import Recipe

RECIPE_FILE = "recipe.toml"
SPLIT_FILE = "split.json"
CHECKPOINT_FILE = "checkpoint.safetensors"
HISTORY_FILE = "history.json"
METRICS_FILE = "metrics.json"
LAST_GOOD_FILE = "last-good.safetensors"  # a run that diverged leaves this model
_LOCK_FILE = ".lock"


def refuse_existing(path: Path) -> None:
    """Refuse a folder for a new run that is there already."""
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists already; choose another folder, or go on with that run (--resume)")


def make_folder(path: Path, files: dict[str, str]) -> None:
    """Make a folder with its files, all at once: they are written beside it, and a rename puts them in place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary.mkdir()
    try:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def alone_in(path: Path) -> Iterator[None]:
    """Refuse a folder in which another session is training: the two would write over one another's files."""
    lock = FileLock(path / _LOCK_FILE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"another session is training in {path}; let it end first, or choose another folder") from None
    try:
        yield
    finally:
        remove_lock_file(path)  # while it is held: that of whoever comes next must stay
        lock.release()


def remove_lock_file(path: Path) -> None:
    """Remove what keeps other sessions out of a folder; Windows does so by itself and refuses it here."""
    with suppress(PermissionError):
        (path / _LOCK_FILE).unlink(missing_ok=True)


def read_split_file(path: Path) -> dict[str, Any]:
    """Return what the folder of a run says of its data; a folder that is none is refused."""
    for name in (RECIPE_FILE, SPLIT_FILE):
        if not (path / name).is_file():
            raise UserError(f"{path} is no run folder: it holds no {name}")
    return read_json(path / SPLIT_FILE)


def refuse_other_recipe(path: Path, recipe: Recipe, asked: Recipe) -> None:
    """Refuse to go on with a run by another recipe than its own."""
    here, there = (_flat(one.without_words().model_dump(mode="json")) for one in (asked, recipe))
    for key in {**there, **here}:
        if here.get(key) != there.get(key):
            raise UserError(f"{path} was started with {key} = {there.get(key)!r}, not {here.get(key)!r}")


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested tables under dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
