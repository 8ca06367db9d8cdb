"""Small IDX files in place of the real ones, and a web server that has them."""

import gzip
import hashlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np

from scnf.data.idx import IMAGES, LABELS
from scnf.data.published import MNIST, TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, Published

TRAIN_ROWS, TEST_ROWS = 200, 120


def idx_bytes(magic: int, values: np.ndarray) -> bytes:
    return struct.pack(f">{values.ndim + 1}I", magic, *values.shape) + values.astype(np.uint8).tobytes()


def small_files(seed: int = 0) -> dict[str, bytes]:
    """Return the contents of the four files of a small data set: random images of ten classes."""
    rng = np.random.default_rng(seed)
    files = {}
    for images, labels, rows in ((TRAIN_IMAGES, TRAIN_LABELS, TRAIN_ROWS), (TEST_IMAGES, TEST_LABELS, TEST_ROWS)):
        files[images] = idx_bytes(IMAGES, rng.integers(0, 256, (rows, 28, 28)))
        files[labels] = idx_bytes(LABELS, rng.permutation(np.arange(rows) % 10))
    return files


def write_files(folder: Path, files: dict[str, bytes], ending: str = "") -> None:
    """Write files to a folder, gzipped if they are to end in .gz."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}{ending}").write_bytes(gzip.compress(content, mtime=0) if ending == ".gz" else content)


@dataclass
class Mirror:
    """What a web server has, how it treats who asks, and what it was asked: path and Range."""

    files: dict[str, bytes]
    url: str = ""
    ranges: bool = True
    break_off_after: int | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        mirror: Mirror = self.server.mirror  # type: ignore[attr-defined]
        name, asked = self.path.lstrip("/"), self.headers.get("Range")
        mirror.asked.append((name, asked))
        if name not in mirror.files:
            self.send_error(404)
            return
        content = mirror.files[name]
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and mirror.ranges else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:][: mirror.break_off_after])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[Mirror]:
    """Serve files on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.mirror = Mirror(files, f"http://127.0.0.1:{server.server_port}/")  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.mirror  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def zipped(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files as mirrors have them."""
    return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in files.items()}


def published_at(*mirrors: str, files: dict[str, bytes]) -> Published:
    """Return MNIST as if these were its files and its mirrors."""
    sha256 = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return replace(MNIST, mirrors=mirrors, sha256=sha256)
