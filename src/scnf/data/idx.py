"""IDX files, the format of MNIST: a magic number, the sizes, and then nothing but bytes; gzipped or not."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from scnf.errors import UserError

IMAGES, LABELS = 0x0803, 0x0801
_KINDS = {IMAGES: "images", LABELS: "labels"}
_CHUNK = 2**20


def read_pair(images: Path, labels: Path, shape: tuple[int, int], classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x ``[N, 1, *shape]`` as one uint8 array and y ``[N]``, checked against each other."""
    x, y = read_idx(images, IMAGES), read_idx(labels, LABELS)
    if x.shape[1:] != shape:
        raise UserError(f"{images} holds images of {_times(x.shape[1:])} pixels, not of {_times(shape)}")
    if len(x) != len(y):
        raise UserError(f"{images} holds {len(x):,} images, but {labels} holds {len(y):,} labels")
    if not len(y):
        raise UserError(f"{images} holds no images")
    if y.max() >= classes:
        raise UserError(f"{labels} holds the label {y.max()}, but labels go from 0 to {classes - 1}")
    return x[:, None], y.astype(np.int64)


def read_idx(path: Path, magic: int) -> np.ndarray:
    """Return the bytes of an IDX file that begins with a magic number, in the shape that it tells."""
    try:
        # What is gzipped shows by its content: names get lost when files are copied and unpacked.
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with cast(BinaryIO, gzip.open(path, "rb") if zipped else path.open("rb")) as content:
            shape = _read_shape(path, content, magic)
            values = _read_values(path, content, math.prod(shape))
    except EOFError as error:
        raise UserError(f"{path} is truncated: its gzip stream breaks off") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is damaged: its gzip stream cannot be read") from error
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _read_shape(path: Path, file: BinaryIO, magic: int) -> tuple[int, ...]:
    found = _integers(path, file, 1)[0]
    if found != magic:
        instead = f"it holds {_KINDS[found]}" if found in _KINDS else "it is no such file"
        raise UserError(f"{path} has the wrong magic number {found}; {_KINDS[magic]} have {magic}: {instead}")
    return _integers(path, file, magic & 0xFF)


def _integers(path: Path, file: BinaryIO, count: int) -> tuple[int, ...]:
    header = file.read(4 * count)
    if len(header) < 4 * count:
        raise UserError(f"{path} is truncated: it ends within its header")
    return struct.unpack(f">{count}I", header)


def _read_values(path: Path, file: BinaryIO, expected: int) -> bytearray:
    # Piece by piece: a damaged header may promise more than fits into memory.
    values = bytearray()
    while len(values) <= expected and (chunk := file.read(_CHUNK)):
        values += chunk
    if len(values) < expected:
        raise UserError(f"{path} is truncated: its header promises {expected:,} values, but it holds {len(values):,}")
    if len(values) > expected:
        raise UserError(f"{path} is damaged: it goes on after the {expected:,} values that its header promises")
    return values


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
