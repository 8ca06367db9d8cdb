"""Every ``scnf`` command and every option that a page names is there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from scnf.cli.main import app
from tests.docs.pages import PAGES, ROOT, blocks, name_of

SCNF = typer.main.get_command(app)


def commands(page: str) -> Iterator[str]:
    """Yield the commands of a page: lines of code blocks, and code within a line."""
    for block in blocks(page, "", "sh", "console"):
        yield from (line.split("#")[0].strip().removeprefix("$ ") for line in block.splitlines())
    yield from re.findall(r"`(scnf [^`\n]+)`", page)


def unknown(command: str) -> list[str]:
    """Return the words of a command that scnf does not know."""
    group: Any = SCNF
    words = shlex.split(command.replace("…", "X"))[1:]
    while hasattr(group, "commands") and words and not words[0].startswith("-"):
        if words[0] not in group.commands:
            return [words[0]]
        group = group.commands[words.pop(0)]
    options = {name for option in group.params for name in (*option.opts, *option.secondary_opts)}
    given = [word for word in words if re.match(r"--?[a-zA-Z]", word)]
    return [word for word in given if word.split("=")[0] not in options | {"--help", "-h"}]


def option_names(group: Any) -> set[str]:
    """Return all options of a command and of those below it."""
    own = {name for option in group.params for name in (*option.opts, *option.secondary_opts)}
    return own.union(*(option_names(inner) for inner in getattr(group, "commands", {}).values()))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_a_page_are_there(page: Path):
    text = page.read_text("utf-8")
    wrong = {command: unknown(command) for command in commands(text) if command.startswith("scnf ")}
    assert {command: words for command, words in wrong.items() if words} == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_that_a_page_names_alone_are_there(page: Path):
    alone = re.findall(r"`(--[a-z-]+)[^`]*`", page.read_text("utf-8"))
    assert set(alone) - option_names(SCNF) == set()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("scnf fit data.csv --target y --out runs/a", []),
        ("scnf fit data.csv --traget y", ["--traget"]),
        ("scnf forget runs/a", ["forget"]),
        ("scnf data fetch mnist --data-dir DIR", []),
        ("scnf data drop mnist", ["drop"]),
        ("scnf sample runs/a -n 3", []),
    ],
)
def test_unknown_words_are_found(command, words):
    assert unknown(command) == words


def test_the_makefile_has_every_target_that_a_page_names():
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    assert "docs" in named
    assert named <= targets
