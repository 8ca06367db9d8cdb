"""Trained models that come with the package, each a file ``NAME.safetensors`` in this folder."""

import re
from pathlib import Path

from scnf.errors import UserError

FOLDER = Path(__file__).parent
LARGEST_FILE = 8_000_000  # bytes: the package is to be installed in seconds
_ENDING = ".safetensors"


def shipped_models() -> list[str]:
    """Return the names of the models that come with the package."""
    return sorted(path.name.removesuffix(_ENDING) for path in FOLDER.glob(f"*{_ENDING}"))


def shipped_file(name: str) -> Path:
    """Return the file of a shipped model."""
    if name not in shipped_models():
        known = f"shipped are {', '.join(shipped_models())}" if shipped_models() else "none is"
        raise FileNotFoundError(f"{name} does not exist, and no model is shipped under that name ({known})")
    return FOLDER / f"{name}{_ENDING}"


def free_place(name: str) -> Path:
    """Return where a model to be shipped under a new name goes."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(f"{name!r} is no name for a shipped model: small letters, digits and single hyphens make one")
    path = FOLDER / f"{name}{_ENDING}"
    if path.exists():
        raise UserError(f"{path} exists already; remove it first, or choose another name")
    return path
