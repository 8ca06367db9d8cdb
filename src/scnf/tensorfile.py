"""Tensors and plain values in one safetensors file, written whole or not at all, read without running anything."""

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from scnf.errors import UserError

_KEY = "scnf"


class FileFormatError(UserError):
    """A file is damaged, of another kind or of a newer format."""


def write_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors and JSON values; a kill in between leaves the file that was there before."""
    contiguous = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    temporary = path.with_name(path.name + ".partial")
    # Not save_file: it writes to a file of its own beside this one, which a kill would leave there.
    temporary.write_bytes(save(contiguous, metadata={_KEY: json.dumps(values)}))
    os.replace(temporary, path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``write_tensors`` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise FileFormatError(f"{path} is damaged or not a safetensors file ({error})") from error
    if _KEY not in metadata:
        raise FileFormatError(f"{path} is a safetensors file that scnf did not write")
    try:
        values = json.loads(metadata[_KEY])
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged: its header holds no JSON ({error})") from error
    if not isinstance(values, dict):
        raise FileFormatError(f"{path} is damaged: its header holds no JSON object")
    return tensors, values
