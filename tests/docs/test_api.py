"""The pages on the API have every public name."""

import re

import pytest

import scnf
from tests.docs.pages import ROOT


def told(page: str) -> set[str]:
    return set(re.findall(r"^::: ([\w.]+)", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE))


def test_every_public_name_is_on_the_api_page():
    assert {name.rpartition(".")[2] for name in told("api.md")} == set(scnf.__all__)


@pytest.mark.parametrize("package", ["scnf.bijections", "scnf.densities"])
def test_layers_are_told_by_package(package):
    assert package in told("layers.md")
