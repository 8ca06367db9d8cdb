"""The tables of recipe keys in recipes.md, made from the schema and its comments."""

import ast
import inspect
import io
import json
import tokenize
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from scnf.recipes import Recipe

MARKER = "<!-- recipe keys -->"
_SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
_NAMES = {int: "whole number", float: "number", bool: "true or false", str: "text"}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the tables where a page asks for them."""
    return markdown.replace(MARKER, recipe_keys()) if MARKER in markdown else markdown


def recipe_keys() -> str:
    """Return a section with a table for every table that a recipe may have."""
    return "\n\n".join(_section(table, places) for table, places in _tables(Recipe, "").items())


def _tables(table: type[BaseModel], place: str) -> dict[type[BaseModel], list[str]]:
    """Return the tables of a recipe and the keys they are found under."""
    found = {table: [place]}
    for name, annotation in _hints(table).items():
        for inner in _models(annotation):
            for key, places in _tables(inner, f"{place}.{name}".strip(".")).items():
                found.setdefault(key, []).extend(where for where in places if where not in found.get(key, []))
    return found


def _section(table: type[BaseModel], places: list[str]) -> str:
    comments = _comments(table)
    lines = [
        f"### {_title(table, places)}",
        "",
        inspect.cleandoc(table.__doc__ or "") + (f" For {_listed(places)}." if "kind" in table.model_fields else ""),
        "",
        "| key | value | default | |",
        "|:---|:---|:---|:---|",
    ]
    for name, annotation in _hints(table).items():
        default = _default(table.model_fields[name].default)
        lines.append(f"| `{name}` | {_form(annotation)} | {default} | {comments.get(name, '')} |")
    return "\n".join(lines)


def _title(table: type[BaseModel], places: list[str]) -> str:
    if "kind" in table.model_fields:
        return f'kind = "{get_args(_hints(table)["kind"])[0]}"'
    return places[0] or "Top"


def _listed(places: list[str]) -> str:
    return " and ".join(f"`[{place}]`" for place in places)


def _hints(table: type[BaseModel]) -> dict[str, Any]:
    hints = get_type_hints(table, include_extras=True)
    return {name: hints[name] for name in table.model_fields}


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _form(annotation: Any) -> str:
    """Return what a value may be, for people."""
    parts = get_args(annotation)
    if _models(annotation):
        kinds = [model for model in _models(annotation) if "kind" in model.model_fields]
        tables = "tables" if get_origin(parts[0] if parts else annotation) is tuple else "a table"
        return f"{tables} with a kind" if kinds else tables
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{json.dumps(value)}`" for value in parts)
    if get_origin(annotation) is Annotated:
        return ", ".join([_form(parts[0]), *_bounds(parts[1:])])
    if get_origin(annotation) is tuple:
        return f"list ({_form(parts[0])})" if parts[-1] is Ellipsis else f"list of {len(parts)} ({_form(parts[0])})"
    if parts:
        return " or ".join(_form(part) for part in parts if part is not NoneType)
    return _NAMES[annotation]


def _bounds(metadata: tuple[Any, ...]) -> list[str]:
    limits = [limit for field in metadata for limit in field.metadata]
    return [
        f"{sign} {getattr(limit, name):g}" for limit in limits for name, sign in _SIGNS.items() if hasattr(limit, name)
    ]


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "must be given"
    if value is None:
        return "unset"
    return f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, BaseModel):
        changed = value.model_dump(exclude_defaults=True)
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in changed.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def _comments(table: type[BaseModel]) -> dict[str, str]:
    """Return the comments of a table's keys: those beside a key, or else the lines right above it."""
    source = inspect.getsource(table)
    found = {
        token.start[0]: (token.string.lstrip("# "), not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    comments = {}
    for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if not isinstance(node, ast.AnnAssign):
            continue
        lines = [line for line in range(node.lineno, (node.end_lineno or node.lineno) + 1) if line in found]
        above = node.lineno - 1
        while lines[:1] != [node.lineno] and above in found and found[above][1]:
            lines, above = [above, *lines], above - 1
        comments[ast.unparse(node.target)] = " ".join(found[line][0] for line in lines)
    return comments
