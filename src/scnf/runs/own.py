"""Runs on people's own files, which the run folder remembers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scnf.errors import UserError
from scnf.estimator.fitting import Settings, recipe_for
from scnf.files.data import read_files
from scnf.files.source import FileMark, FileSource
from scnf.recipes import load_recipe, recipe_to_toml
from scnf.recipes.load import with_overrides
from scnf.runs.folder import (
    RECIPE_FILE,
    SPLIT_FILE,
    make_folder,
    read_split_file,
    refuse_existing,
    refuse_other_recipe,
)
from scnf.runs.run import Run, check_fit
from scnf.tables.schema import GivenKind

_KEY = "files"
# What a run cannot change when it is resumed.
_KEPT = (
    "target", "unlabeled", "ignored", "kinds", "image_size", "image_color", "test_share", "seed", "calibrated"
)  # fmt: skip


@dataclass(frozen=True)
class FileRequest:
    """What a run on files is asked to be; None leaves it to the defaults, or to the run that is resumed."""

    file: Path | None = None
    image_folder: Path | None = None
    target: str | None = None
    unlabeled: str | None = None
    ignored: tuple[str, ...] | None = None
    kinds: dict[str, GivenKind] | None = None
    image_size: tuple[int, int] | None = None
    image_color: bool | None = None
    test: Path | None = None
    test_share: float | None = None
    calibrated: bool | None = None
    seed: int | None = None
    recipe: str | None = None
    overrides: Mapping[str, Any] | None = None


def is_file_run(path: Path) -> bool:
    """Tell whether the folder of a run is one on files."""
    return _KEY in read_split_file(path)


def start_file_run(path: Path, request: FileRequest, devices: int = 1) -> Run:
    """Make a new run folder, for a first session on so many devices; one that exists already is refused."""
    refuse_existing(path)
    source = _source(request)
    data = read_files(source)
    recipe = recipe_for(data.training(), Settings(request.recipe, request.overrides or {}))
    check_fit(recipe, data, devices)
    stored = {_KEY: source.model_dump(mode="json")}
    make_folder(path, {RECIPE_FILE: recipe_to_toml(recipe), SPLIT_FILE: json.dumps(stored, indent=1) + "\n"})
    return Run(path, recipe, data)


def resume_file_run(path: Path, request: FileRequest) -> Run:
    """Open a run folder to go on with it; other files, or a request for anything else than it holds, are refused."""
    source = stored_source(path)
    source = _with_files(path, source, request)
    for key in _KEPT:
        asked, there = getattr(request, key), getattr(source, key)
        if asked is not None and asked != there:
            raise UserError(f"{path} was started with {key} = {there}, not {asked}")
    recipe = load_recipe(path / RECIPE_FILE)
    if request.recipe is not None:
        refuse_other_recipe(path, recipe, load_recipe(request.recipe, request.overrides))
    elif request.overrides:
        refuse_other_recipe(path, recipe, with_overrides(recipe, request.overrides))
    return Run(path, recipe, read_files(source))


def stored_source(path: Path) -> FileSource:
    """Return which files a run was started with."""
    stored = read_split_file(path).get(_KEY)
    try:
        return FileSource.model_validate(stored)
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"])) or "files"
        raise UserError(f"{path / SPLIT_FILE} is damaged: it does not tell the run's {key}") from error


def _source(request: FileRequest) -> FileSource:
    given = request.file if request.image_folder is None else request.image_folder
    assert given is not None
    if request.test is not None and request.test_share is not None:
        raise UserError("--test and --test-share cannot go together: a test file leaves all rows to learn from")
    if request.test_share is not None and not 0 < request.test_share < 1:
        raise UserError(f"--test-share must lie between 0 and 1, got {request.test_share:g}")
    if request.seed is not None and not 0 <= request.seed < 2**32:
        raise UserError(f"seed must lie between 0 and {2**32 - 1}, got {request.seed}")
    target = request.target
    if request.image_folder is None and target is None:
        if given.suffix.lower() != ".npz":
            raise UserError(f"which column of {given} holds the labels? --target COLUMN says it")
        target = "y"
    if request.image_folder is not None and target is not None:
        raise UserError("--target is for tables: the folders of images are their labels")
    if not given.exists():
        raise UserError(f"{given} does not exist")
    return FileSource(
        kind="table" if request.image_folder is None else "images",
        rows=FileMark.of(given),
        target=target,
        unlabeled=request.unlabeled,
        ignored=request.ignored or (),
        kinds=request.kinds or {},
        image_size=request.image_size,
        image_color=request.image_color,
        test=None if request.test is None else FileMark.of(request.test),
        test_share=request.test_share,
        calibrated=request.calibrated is not False,
        seed=request.seed or 0,
    )


def _with_files(path: Path, source: FileSource, request: FileRequest) -> FileSource:
    """Return the source with files where they are now; each must be what it was."""
    places = {"rows": request.file if request.image_folder is None else request.image_folder, "test": request.test}
    for key, place in places.items():
        mark: FileMark | None = getattr(source, key)
        if place is None:
            if mark is not None:
                mark.check()
            continue
        now = FileMark.of(place)
        if mark is None or not mark.same_content(now):
            there = "no test file" if mark is None else mark.place
            raise UserError(f"{path} was started with {there}, and {place} is not the same")
        source = source.model_copy(update={key: now})
    return source
