"""The tables of recipe keys, made from the schema."""

import re

import pytest
from docs.hooks.recipe_keys import MARKER, on_page_markdown, recipe_keys

from scnf.recipes import Recipe
from scnf.recipes.load import _keys
from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def tables() -> str:
    return recipe_keys()


def test_every_key_of_the_schema_has_a_row(tables):
    told = set(re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE))
    assert told == {key.rpartition(".")[2] for key in _keys(Recipe)}


@pytest.mark.parametrize(
    "row",
    [
        "| `clip` | number, > 0 | `10.0` | of the gradient's norm |",  # a comment beside the key
        "| `patience` | whole number, ≥ 1 | unset | So many steps without",  # above it
        '| `linear` | `"full"` or `"lu"` or `"none"` | `"full"` | The invertible map:',  # above it
        "| `f` | a table with a kind | must be given |",
        "| `levels` | tables | `[{channel = 4, keep = 2}, {channel = 4, keep = 2}]` |",
        "| `betas` | list of 2 (number, ≥ 0, < 1) | `[0.9, 0.99]` |",
        "| `hidden` | list (whole number, ≥ 1) | `[64, 64]` |",
    ],
)
def test_a_row_tells_value_default_and_comment(tables, row):
    assert row in tables


def test_the_page_on_recipes_asks_for_the_tables(tables):
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    assert tables in on_page_markdown(page, None, None, None)
    assert MARKER not in on_page_markdown(page, None, None, None)
