"""A downloader for pooch that goes on where an earlier download broke off."""

import os
import re
from pathlib import Path
from typing import Any

import requests

from scnf.data.published import Report

CONNECT_SECONDS, READ_SECONDS = 5, 30
_CHUNK = 2**16


class ResumingDownloader:
    """Downloads into ``part`` and gives the file away once it is complete; what breaks off stays in ``part``."""

    def __init__(self, part: Path, report: Report):
        self.part, self.report = part, report

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Download as pooch asks for it."""
        start = self.part.stat().st_size if self.part.is_file() else 0
        # A server that packs the file for the way would count other bytes than ours.
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
        with requests.get(url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)) as response:
            # Nothing lies beyond the part: it may be complete already, and the hash will tell.
            if not (start and response.status_code == requests.codes.range_not_satisfiable):
                response.raise_for_status()
                self._receive(response, start)
        os.replace(self.part, output_file)

    def _receive(self, response: requests.Response, start: int) -> None:
        # A server that knows no ranges sends all of the file.
        begin = _first_byte(response) if response.status_code == requests.codes.partial_content else 0
        if begin > start:
            raise requests.exceptions.ChunkedEncodingError("the server left out a part of the file")
        length = int(response.headers.get("Content-Length", 0))
        total = begin + length if length else 0
        with self.part.open("r+b" if begin else "wb") as file:
            file.truncate(begin)
            file.seek(begin)
            for chunk in response.iter_content(_CHUNK):
                file.write(chunk)
                self.report(self.part.stem, file.tell(), total)


def _first_byte(response: requests.Response) -> int:
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else 0
