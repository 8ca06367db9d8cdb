"""Tensors and plain values in one safetensors file, written whole or not at all, read without running anything."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from scnf.errors import UserError
from scnf.wholefile import whole

_KEY, _DIGEST = "scnf", "sha256"


class FileFormatError(UserError):
    """A file is damaged, of another kind or of a newer format."""


def pack_tensors(tensors: dict[str, Tensor], values: dict[str, Any]) -> bytes:
    """Return tensors and JSON values as the bytes of a file."""
    contiguous = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    # The library has no check of its own: one flipped bit would be another weight.
    digest = _digest(values, _split(save(contiguous))[1])
    packed: bytes = save(contiguous, metadata={_KEY: json.dumps({**values, _DIGEST: digest})})
    return packed


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Return header and tensors of a file: eight bytes tell the header's length."""
    end = 8 + int.from_bytes(data[:8], "little")
    return data[8:end], data[end:]


def _digest(values: dict[str, Any], tensors: bytes) -> str:
    return hashlib.sha256(json.dumps(values).encode() + tensors).hexdigest()


def write_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors and JSON values; a kill in between leaves the file that was there before."""
    with whole(path) as temporary:
        # Not save_file: it writes to a file of its own beside this one, which a kill would leave there.
        temporary.write_bytes(pack_tensors(tensors, values))


def unpack_tensors(data: bytes, source: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what ``pack_tensors`` was given; ``source`` is what messages call it."""
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise FileFormatError(f"{source} is damaged or not a safetensors file ({error})") from error
    # The library tells a header's metadata of files alone.
    header, content = _split(data)
    metadata = json.loads(header).get("__metadata__", {})
    if _KEY not in metadata:
        raise FileFormatError(f"{source} is a safetensors file that scnf did not write")
    try:
        values = json.loads(metadata[_KEY])
    except ValueError as error:
        raise FileFormatError(f"{source} is damaged: its header holds no JSON ({error})") from error
    if not isinstance(values, dict):
        raise FileFormatError(f"{source} is damaged: its header holds no JSON object")
    # Files from before there was a digest have none.
    digest = values.pop(_DIGEST, None)
    if digest is not None and digest != _digest(values, content):
        raise FileFormatError(f"{source} is damaged: its content is not what was written; take another copy of it")
    return tensors, values


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``write_tensors`` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    return unpack_tensors(path.read_bytes(), str(path))


def tensors_under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
