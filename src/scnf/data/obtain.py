"""The files of a published data set: found on this machine, or downloaded."""

from pathlib import Path

from scnf.data.places import Files, download_folder, find_files, owner_of, why_missing
from scnf.data.published import Published, Report
from scnf.errors import UserError


def find_or_download(published: Published, data_dir: Path | None, report: Report) -> Files:
    """Return the files of a data set, from ``data_dir`` alone if it is named: nothing is downloaded unasked there."""
    files = find_files(published, data_dir)
    if files is None and data_dir is not None:
        _check_folder(data_dir)
        raise UserError(
            f"{why_missing(published, data_dir)}; `scnf data fetch {published.name} --data-dir {data_dir}` downloads it"
        )
    return files or fetch_files(published, None, report)


def fetch_files(published: Published, data_dir: Path | None, report: Report) -> Files:
    """Return the files of a data set, downloaded into a folder of its own under ``data_dir`` if they are not here."""
    files = find_files(published, data_dir)
    if files is None:
        from scnf.data.download import download  # noqa: PLC0415 (what is here needs no network)

        base = download_folder() if data_dir is None else data_dir
        _check_folder(base)
        folder = base / published.folders[0]
        if (owner := owner_of(published, folder)) is not None:
            raise UserError(
                f"{folder} is where {published.name} would go, but holds the files of {owner}, which are not "
                "overwritten; rename that folder, or name another one by --data-dir"
            )
        download(published, folder, report)
        files = find_files(published, base)
        assert files is not None
    return files


def _check_folder(base: Path) -> None:
    if base.exists() and not base.is_dir():
        raise UserError(f"{base} is a file; name the folder that holds the data, or that is to hold them")
