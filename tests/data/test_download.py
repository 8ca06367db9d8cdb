import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scnf.data import resume
from scnf.data.download import download
from scnf.data.published import FASHION_MNIST, MNIST, TEST_LABELS, TRAIN_IMAGES, Published, tell_nobody
from scnf.errors import UserError
from tests.idx_files import Mirror, published_at, serve, small_files, zipped

FILES = zipped(small_files())
FIRST, LAST = f"{TRAIN_IMAGES}.gz", f"{TEST_LABELS}.gz"
# Nothing listens on this port, and connecting to it fails at once.
NOWHERE = "http://127.0.0.1:9/"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serve(dict(FILES)) as mirror:
        yield mirror


@pytest.fixture
def other() -> Iterator[Mirror]:
    with serve(dict(FILES)) as mirror:
        yield mirror


def complete(folder: Path) -> bool:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"} == FILES


def asked(mirror: Mirror, name: str = FIRST) -> list[str | None]:
    """Return the ranges of a file that a mirror was asked for."""
    return [which for file, which in mirror.asked if file == name]


def test_all_files_are_downloaded_and_reported(tmp_path: Path, mirror: Mirror):
    reports: list[tuple[str, int, int]] = []
    download(published_at(mirror.url, files=FILES), tmp_path / "new" / "mnist", lambda *report: reports.append(report))
    assert complete(tmp_path / "new" / "mnist")
    ends = {name: (done, total) for name, done, total in reports}
    assert ends == {name: (len(content), len(content)) for name, content in FILES.items()}
    assert len(reports) > len(FILES)


def test_what_is_here_is_not_downloaded_again(tmp_path: Path, mirror: Mirror):
    published = published_at(mirror.url, files=FILES)
    download(published, tmp_path, tell_nobody)
    (tmp_path / LAST).unlink()
    (tmp_path / FIRST).write_bytes(b"damaged")
    mirror.asked.clear()
    download(published, tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert {name for name, _ in mirror.asked} == {FIRST, LAST}


def test_a_download_that_broke_off_goes_on(tmp_path: Path, mirror: Mirror):
    mirror.break_off_after = 100_000
    published = published_at(mirror.url, files=FILES)
    with pytest.raises(UserError, match="it broke off; the next try goes on from there"):
        download(published, tmp_path, tell_nobody)
    kept = (tmp_path / f"{FIRST}.part").read_bytes()
    assert 50_000 < len(kept) <= 100_000
    assert FILES[FIRST].startswith(kept)
    mirror.break_off_after = None
    download(published, tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert asked(mirror) == [None, f"bytes={len(kept)}-"]


def test_another_mirror_goes_on_with_what_the_first_began(tmp_path: Path, mirror: Mirror, other: Mirror):
    mirror.break_off_after = 100_000
    download(published_at(mirror.url, other.url, files=FILES), tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert asked(mirror) == [None]
    assert asked(other) == [f"bytes={2**16}-"]


def test_a_mirror_without_ranges_sends_all(tmp_path: Path, mirror: Mirror):
    (tmp_path / f"{FIRST}.part").write_bytes(FILES[FIRST][:1000])
    mirror.ranges = False
    download(published_at(mirror.url, files=FILES), tmp_path, tell_nobody)
    assert complete(tmp_path)


def test_a_part_that_is_complete_needs_nothing_more(tmp_path: Path, mirror: Mirror):
    (tmp_path / f"{FIRST}.part").write_bytes(FILES[FIRST])
    download(published_at(mirror.url, files=FILES), tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert asked(mirror) == [f"bytes={len(FILES[FIRST])}-"]


@pytest.mark.parametrize("length", [1000, 10**6])
def test_a_wrong_part_is_thrown_away(tmp_path: Path, mirror: Mirror, length: int):
    (tmp_path / f"{FIRST}.part").write_bytes(b"?" * length)
    download(published_at(mirror.url, files=FILES), tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert asked(mirror) == [f"bytes={length}-", None]


@pytest.mark.parametrize("wrong", [{FIRST: b"<html>log in first</html>"}, {}], ids=["another file", "no file"])
def test_a_mirror_with_a_wrong_file_is_passed_over(
    tmp_path: Path, mirror: Mirror, other: Mirror, wrong: dict[str, bytes]
):
    del mirror.files[FIRST]
    mirror.files |= wrong
    download(published_at(mirror.url, other.url, files=FILES), tmp_path, tell_nobody)
    assert complete(tmp_path)
    assert (len(asked(mirror)), asked(other)) == (1, [None])
    assert asked(other, LAST) == []


def test_a_mirror_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, other: Mirror, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resume, "READ_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        download(published_at(url, other.url, files=FILES), tmp_path / "mnist", tell_nobody)
        with pytest.raises(UserError, match=rf"tried {url} \(no answer in time\);"):
            download(published_at(url, files=FILES), tmp_path / "again", tell_nobody)
    assert complete(tmp_path / "mnist")


def test_downloads_side_by_side_are_one(tmp_path: Path, mirror: Mirror):
    published = published_at(mirror.url, files=FILES)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: download(published, tmp_path, tell_nobody), range(4)))
    assert complete(tmp_path)
    assert sorted(mirror.asked) == sorted((name, None) for name in FILES)


def test_all_mirrors_down_is_one_sentence(tmp_path: Path, mirror: Mirror, other: Mirror):
    mirror.files.clear()
    other.files[FIRST] = b"something else"
    with pytest.raises(UserError) as error:
        download(published_at(NOWHERE, mirror.url, other.url, files=FILES), tmp_path, tell_nobody)
    assert str(error.value) == (
        f"could not download {FIRST} of mnist: tried {NOWHERE} (no connection) and {mirror.url} (HTTP status 404) and "
        f"{other.url} (not the file that was published); try again with a network, or name a folder that holds the "
        "files by --data-dir or SCNF_DATA_DIR"
    )
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("published", [MNIST, FASHION_MNIST], ids=lambda published: published.name)
def test_every_file_has_a_hash_and_two_mirrors(published: Published):
    assert len(published.sha256) == 4
    assert all(len(digest) == 64 for digest in published.sha256.values())
    assert len(set(published.mirrors)) >= 2
    assert all(mirror.endswith("/") for mirror in published.mirrors)
