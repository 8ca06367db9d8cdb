"""Small grey images inside a record: a line of text in place of thousands of numbers."""

import base64
import zlib
from typing import Any

import numpy as np

from scnf.errors import UserError


def pack_images(images: np.ndarray) -> dict[str, Any]:
    """Return bytes ``[N, H, W]`` as JSON values.

    Example:
        >>> import numpy as np
        >>> unpack_images(pack_images(np.ones((2, 3, 3), np.uint8))).sum()
        np.uint64(18)
    """
    if images.dtype != np.uint8:
        raise ValueError(f"images must be bytes, got {images.dtype}")
    return {"shape": list(images.shape), "zlib": base64.b64encode(zlib.compress(images.tobytes(), 9)).decode("ascii")}


def unpack_images(packed: dict[str, Any]) -> np.ndarray:
    """Undo ``pack_images``."""
    try:
        data = zlib.decompress(base64.b64decode(packed["zlib"], validate=True))
        return np.frombuffer(data, np.uint8).reshape(packed["shape"])
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise UserError(f"images of a record are damaged: {error}; without the record the run is made again") from error
