"""Where the files of published data sets may lie on this machine."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from scnf.data.published import PUBLISHED, TEST_LABELS, Published

DATA_DIR_VARIABLE = "SCNF_DATA_DIR"
# Debian's dataset-fashion-mnist puts its files here.
SYSTEM_FOLDER = Path("/usr/share/datasets")


@dataclass(frozen=True)
class Files:
    """The files of a data set, by the names that they were published under, unpacked.

    ``data_dir`` is the folder that was named to find them in; None if they were in a usual one.
    """

    published: Published
    paths: Mapping[str, Path]
    data_dir: Path | None = None

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]

    @property
    def folder(self) -> Path:
        """The folder they lie in."""
        return next(iter(self.paths.values())).parent

    @property
    def remedy(self) -> str:
        """What to do about a damaged one."""
        where = "" if self.data_dir is None else f" --data-dir {self.data_dir}"
        return f"once what is damaged is removed, `scnf data fetch {self.published.name}{where}` gets it anew"


def download_folder() -> Path:
    """Return where downloads go if no folder is named."""
    from pooch import os_cache  # noqa: PLC0415 (most commands need no files)

    named = os.environ.get(DATA_DIR_VARIABLE)
    return Path(named).expanduser() if named else Path(os_cache("scnf"))


def usual_folders() -> list[Path]:
    """Return where data sets are looked for if no folder is named, first things first."""
    from pooch import os_cache  # noqa: PLC0415

    folders = [download_folder(), Path(os_cache("scnf")), Path("data"), Path.home() / "data", SYSTEM_FOLDER]
    return list(dict.fromkeys(folders))


def find_files(published: Published, data_dir: Path | None = None) -> Files | None:
    """Return the files of a data set: those in ``data_dir`` if it is named, else in the first usual folder."""
    for base in usual_folders() if data_dir is None else [data_dir]:
        for folder in _layouts(published, base):
            files = _complete(published, folder)
            if files is not None and _other_owner(published, files) is None:
                return replace(files, data_dir=data_dir)
    return None


def owner_of(published: Published, folder: Path) -> str | None:
    """Return the name of another data set, if a folder holds its files under the names that both have."""
    files = _complete(published, folder)
    return None if files is None else _other_owner(published, files)


def why_missing(published: Published, data_dir: Path) -> str:
    """Say why a named folder does not give the files of a data set."""
    if not data_dir.exists():
        return f"the folder {data_dir} does not exist"
    folders = list(_layouts(published, data_dir))
    for folder in folders:
        if (owner := owner_of(published, folder)) is not None:
            return f"{folder} holds the files of {owner}, not of {published.name}"
    # The folder that lacks least is the one that was meant.
    folder = min(folders, key=lambda folder: len(_missing(published, folder)))
    missing = _missing(published, folder)
    if len(missing) < len(published.files):
        return f"{folder} lacks {' and '.join(missing)} (with or without .gz) of {published.name}"
    beneath = " or ".join(published.folders)
    names = ", ".join(published.files)
    return f"{data_dir} does not hold {published.name}: no {names} (with or without .gz), nor in {beneath}"


def _layouts(published: Published, base: Path) -> Iterator[Path]:
    """Yield where under a folder the files may be; the folders that bear the data set's name come first."""
    yield from (base / folder for folder in published.folders)
    yield base


def _file(folder: Path, name: str) -> Path | None:
    # Some archives write train-images.idx3-ubyte or adult.data.txt.
    spellings = (name, name.replace("-idx", ".idx"), f"{name}.txt")
    candidates = (folder / f"{spelling}{ending}" for spelling in spellings for ending in ("", ".gz"))
    # os.path.isfile, unlike Path.is_file, says no of a folder that may not be read.
    return next((path for path in candidates if os.path.isfile(path)), None)


def _missing(published: Published, folder: Path) -> list[str]:
    return [name for name in published.files if _file(folder, name) is None]


def _complete(published: Published, folder: Path) -> Files | None:
    found = {name: path for name in published.files if (path := _file(folder, name)) is not None}
    return Files(published, found) if len(found) == len(published.files) else None


def _other_owner(published: Published, files: Files) -> str | None:
    """Return the name of another data set if the files are known to be its own."""
    if TEST_LABELS not in files.paths:
        return None  # the name of the file tells
    try:
        content = files[TEST_LABELS].read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error):
        return None  # whoever reads the files will tell what is wrong with them
    digest = hashlib.sha256(content).hexdigest()
    owners = (other.name for other in PUBLISHED if other.test_labels_sha256 == digest)
    return next((owner for owner in owners if owner != published.name), None)
