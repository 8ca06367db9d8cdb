"""Reading recipes: shipped names, TOML files, and overrides of single keys."""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import tomli_w
from pydantic import BaseModel, ValidationError

from scnf.errors import UserError
from scnf.recipes.schema import Recipe


class RecipeError(UserError):
    """A recipe that cannot be used, and which key is at fault."""


def shipped_recipes() -> list[str]:
    """Return the names of the recipes that come with the package."""
    folder = resources.files("scnf.recipes")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_recipe(name_or_path: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """Read a shipped recipe by name or a TOML file by path, with some keys replaced.

    Example:
        >>> load_recipe("toy", {"training.steps": 10}).training.steps
        10
    """
    source, values = _read_values(str(name_or_path))
    return _validated(source, values, overrides or {})


def with_overrides(recipe: Recipe, overrides: Mapping[str, Any]) -> Recipe:
    """Return a recipe with some keys replaced.

    Example:
        >>> with_overrides(load_recipe("toy"), {"training.n_init": 3}).training.n_init
        3
    """
    return _validated(f"recipe {recipe.name!r}", recipe.model_dump(mode="json"), overrides)


def _validated(source: str, values: dict[str, Any], overrides: Mapping[str, Any]) -> Recipe:
    for key, value in overrides.items():
        _replace(values, key, value)
    try:
        # Strict, and as JSON: a list may stand for a tuple, but "10" is no number and 1.5 no count.
        return Recipe.model_validate_json(json.dumps(values, default=_plain), strict=True)
    except ValidationError as error:
        raise RecipeError(f"{source}: {_explain(error)}") from error


def _plain(value: Any) -> Any:
    """Return a number of numpy's, or of another library's, as Python's own; all else is told by its text."""
    return value.item() if getattr(value, "ndim", None) == 0 else str(value)


def parse_override(assignment: str) -> tuple[str, Any]:
    """Read ``key=value`` with the value in TOML's notation; a bare word is a string.

    Example:
        >>> parse_override("training.betas=[0.9, 0.999]"), parse_override("model.f.map=spline")
        (('training.betas', [0.9, 0.999]), ('model.f.map', 'spline'))
    """
    key, equals, value = assignment.partition("=")
    if not equals or not key.strip():
        raise RecipeError(f"an override is key=value, got {assignment!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def recipe_to_toml(recipe: Recipe) -> str:
    """Return the resolved recipe, every key with its value, as a TOML file."""
    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))


def _read_values(name_or_path: str) -> tuple[str, dict[str, Any]]:
    """Return where a recipe comes from and its values; one with a ``base`` is that recipe with a few keys changed."""
    source, text = _read(name_or_path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{source} is not valid TOML: {error}") from error
    if "base" not in values:
        return source, values
    base = values.pop("base")
    changes = values.pop("change", {})
    # One step only: a reader finds all of a recipe in two files. The base is shipped, so a run does not hang on a path.
    if base not in shipped_recipes() or "base" in tomllib.loads(_read(base)[1]):
        raise RecipeError(f"{source}: base {base!r} is no shipped recipe that stands on its own")
    if not isinstance(changes, dict):
        raise RecipeError(f"{source}: change should be a table of keys and values, got {changes!r}")
    values = {**_read_values(base)[1], **values}
    for key, value in _leaves(changes):
        _replace(values, key, value)
    return source, values


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the whole keys of a table of changes: TOML makes tables of dotted ones, and these must not replace more."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _read(name_or_path: str) -> tuple[str, str]:
    path = Path(name_or_path)
    # A bare name is a shipped recipe's, whatever lies in the current folder.
    if path.suffix == ".toml" or "/" in name_or_path or os.sep in name_or_path:
        if not path.is_file():
            raise RecipeError(f"recipe file {path} does not exist")
        try:
            return str(path), path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise RecipeError(f"{path} is not valid TOML: it is no UTF-8 text") from error
    if name_or_path not in shipped_recipes():
        known = ", ".join(shipped_recipes())
        raise RecipeError(f"unknown recipe {name_or_path!r}; shipped are {known}, or give a .toml file")
    return f"recipe {name_or_path!r}", (resources.files("scnf.recipes") / f"{name_or_path}.toml").read_text("utf-8")


def _replace(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    table: Any = values
    for parent in parents:
        table = table[_index(table, parent, key)] if isinstance(table, list) else table.setdefault(parent, {})
        if not isinstance(table, dict | list):
            raise RecipeError(f"{key!r} is not a key: {parent!r} holds a value, not a table")
    table[_index(table, last, key) if isinstance(table, list) else last] = value


def _index(items: list[Any], part: str, key: str) -> int:
    if not part.isdecimal() or int(part) >= len(items):
        raise RecipeError(f"{key!r} is not a key: {part!r} should be a number from 0 to {len(items) - 1}")
    return int(part)


def _explain(error: ValidationError) -> str:
    """Return one sentence that names the first key at fault."""
    first = error.errors()[0]
    # pydantic puts the chosen kind into the path of a union; the user's key has no such part.
    kinds = ("coupling", "ffjord", "multiscale", "none", "gaussian", "fixed-", "flow-per-", "autoregressive")
    chosen = (*kinds, "literal[", "tuple[", "constrained-int")
    key = ".".join(str(part) for part in first["loc"] if not str(part).startswith(chosen))
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}{_suggestion(key)}"
    if first["type"] == "missing":
        return f"key {key!r} is missing"
    if first["type"] == "union_tag_invalid":
        context = first["ctx"]
        return f"bad value {context['tag']!r} for key '{key}.kind': it should be one of {context['expected_tags']}"
    message = first["msg"].removeprefix("Value error, ")
    message = re.sub(r"^(Input|Tuple) should", "it should", message).replace(" after validation", "")
    return f"bad value {first['input']!r} for key {key!r}: {message}"


def _suggestion(key: str) -> str:
    """Return the known key that is most alike, if one is."""
    known = sorted(set(_keys(Recipe)) - {key})
    moved = [other for other in known if other.endswith(f".{key}")]
    alike = moved or difflib.get_close_matches(key, known, n=1, cutoff=0.8)
    return f"; did you mean {alike[0]!r}?" if alike else ""


def _keys(table: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield all keys of a table and of the tables inside it, as they are written in an override."""
    for name, field in table.model_fields.items():
        yield prefix + name
        for inner in _tables(field.annotation):
            yield from _keys(inner, f"{prefix}{name}.")


def _tables(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for part in get_args(annotation) for table in _tables(part)]
