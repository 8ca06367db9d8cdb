"""Links of the pages, checked without building the site."""

from pathlib import Path

import pytest
from docs.hooks.links import anchors, relative_links, with_links

from tests.docs.pages import PAGES, ROOT, name_of


def broken(text: str, page: Path) -> list[str]:
    """Return the links of a page's text that point to no file of the repository, or to no heading of one."""
    found = []
    for link in relative_links(text):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        known = target.is_relative_to(ROOT) and target.exists()
        if not known or (anchor and anchor not in anchors(text if target == page else target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_points_to_something(page):
    assert broken(page.read_text("utf-8"), page) == []


def test_broken_links_are_found():
    good = "# A `b` (c)\n[x](model.md#learning-equation-1) [y](../README.md) [z](#a-b-c) `[u](code.md)` [v](https://a.b/c)\n"
    bad = ["nowhere.md", "model.md#nothing", "#nothing", "../../outside.md"]
    assert broken(good + " ".join(f"[w]({link})" for link in bad), ROOT / "docs" / "faq.md") == bad


def test_links_are_changed_outside_code_alone():
    text = "[a](b.md)\n```\n[a](b.md)\n```\n`[a](b.md)` [a](https://b.md)\n"
    assert with_links(text, str.upper) == "[a](B.MD)" + text.removeprefix("[a](b.md)")
