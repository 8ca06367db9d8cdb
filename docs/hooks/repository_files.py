"""Pages may link to any file of the repository, as they do on a code host: the site takes that file along.

A file outside docs/ has the same path in the site as in the repository. Every page of results/ is in the navigation.
"""

import posixpath
from pathlib import Path, PurePosixPath
from typing import Any

from links import relative_links, with_links
from mkdocs.structure.files import File, Files

_DOCS = "docs"
_RESULTS = "Results"


def on_config(config: Any) -> Any:
    """Put the pages of results/ into the navigation."""
    root = _root(config)
    (section,) = (entry[_RESULTS] for entry in config.nav if _RESULTS in entry)
    section += sorted(path.relative_to(root).as_posix() for path in root.glob("results/*/*.md"))
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what the navigation names and pages link to, and what is linked from there."""
    root = _root(config)
    waiting = [_in_repository(file.src_uri, root) for file in files.documentation_pages()]
    waiting += [_in_repository(uri, root) for uri in _pages(config.nav)]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in seen or not (root / path).is_file():  # mkdocs tells what is not there
            continue
        seen.add(path)
        if files.get_file_from_path(uri := _in_site(path)) is None:
            files.append(File.generated(config, uri, abs_src_path=str(root / path)))
        if path.endswith(".md"):
            page = (root / path).read_text("utf-8")
            waiting += [_linked(path, target) for target in relative_links(page)]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links to where files are in the site."""
    here = page.file.src_uri
    path = _in_repository(here, _root(config))

    def in_site(target: str) -> str:
        name, sign, anchor = target.partition("#")
        if not name:
            return target
        return posixpath.relpath(_in_site(_linked(path, name)), posixpath.dirname(here) or ".") + sign + anchor

    return with_links(markdown, in_site)


def _root(config: Any) -> Path:
    return Path(config.docs_dir).parent


def _in_repository(uri: str, root: Path) -> str:
    return f"{_DOCS}/{uri}" if (root / _DOCS / uri).is_file() else uri


def _in_site(path: str) -> str:
    inside = PurePosixPath(path).is_relative_to(_DOCS)
    return PurePosixPath(path).relative_to(_DOCS).as_posix() if inside else path


def _linked(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0] or path))


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [uri for part in (nav.values() if isinstance(nav, dict) else nav) for uri in _pages(part)]
