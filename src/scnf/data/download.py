"""Downloading published data sets: every file from the first mirror that gives the right one."""

import logging
from pathlib import Path

import pooch
import requests
from filelock import FileLock

from scnf.data.places import DATA_DIR_VARIABLE
from scnf.data.published import Published, Report
from scnf.data.resume import ResumingDownloader
from scnf.errors import UserError

_OTHER_FILE = "not the file that was published"


def download(published: Published, folder: Path, report: Report) -> None:
    """Download the files of a data set that are not in a folder yet; what breaks off is gone on with next time."""
    pooch.get_logger().setLevel(logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    # Runs that start side by side would write into one another's files; the second finds all of them here.
    with FileLock(folder / ".lock"):
        for name in published.sha256:
            _download_file(published, name, folder, report)


def _download_file(published: Published, name: str, folder: Path, report: Report) -> None:
    part = folder / f"{name}.part"
    failures = []
    for mirror in published.mirrors:
        had_part = part.is_file()
        failure = _try_mirror(mirror, published, name, part, report)
        # The part may be what is wrong; it is gone now, and the mirror gets a second chance.
        if failure == _OTHER_FILE and had_part:
            failure = _try_mirror(mirror, published, name, part, report)
        if failure is None:
            return
        failures.append(f"{mirror} ({failure})")
    raise UserError(
        f"could not download {name} of {published.name}: tried {' and '.join(failures)}; try again with a network, or "
        f"name a folder that holds the files by --data-dir or {DATA_DIR_VARIABLE}"
    )


def _try_mirror(mirror: str, published: Published, name: str, part: Path, report: Report) -> str | None:
    """Download a file from a mirror and return None, or what went wrong."""
    try:
        downloader = ResumingDownloader(part, report)
        pooch.retrieve(mirror + name, f"sha256:{published.sha256[name]}", name, part.parent, downloader=downloader)
    except requests.HTTPError as error:
        return "no such file there" if error.response is None else f"HTTP status {error.response.status_code}"
    except requests.Timeout:
        return "no answer in time"
    except requests.exceptions.ChunkedEncodingError:
        return "it broke off; the next try goes on from there"
    except requests.RequestException:
        return "no connection"
    except ValueError:  # pooch's word for a wrong hash
        return _OTHER_FILE
    return None
