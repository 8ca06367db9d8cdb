"""The links of a Markdown page, for the site's hooks and for the tests."""

import re
from collections.abc import Callable, Iterator

_CODE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=\))")
_ELSEWHERE = re.compile(r"[a-z]+:", re.IGNORECASE)


def relative_links(page: str) -> Iterator[str]:
    """Yield the targets of links and images outside code that point to no other site."""
    found: list[str] = []
    with_links(page, lambda target: found.append(target) or target)
    yield from found


def with_links(page: str, change: Callable[[str], str]) -> str:
    """Return the page with the target of every such link changed."""
    code = [match.span() for match in _CODE.finditer(page)]

    def changed(match: re.Match[str]) -> str:
        target = match["target"]
        in_code = any(start <= match.start() < end for start, end in code)
        return target if in_code or _ELSEWHERE.match(target) else change(target)

    return _LINK.sub(changed, page)


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings: words in lower case, joined by hyphens, other signs left out."""
    text = _CODE.sub(lambda match: match[0].strip("`") if "\n" not in match[0] else "", page)
    headings = re.findall(r"^#{1,6} +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
