import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from scnf.data.idx import IMAGES, LABELS, read_idx, read_pair
from scnf.errors import UserError
from tests.idx_files import idx_bytes

X = np.arange(3 * 4 * 5).reshape(3, 4, 5) % 256
Y = np.array([0, 2, 1])


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["images", "images.gz"])
@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["gzipped", "plain"])
def test_the_content_and_not_the_name_tells_whether_a_file_is_gzipped(tmp_path: Path, name: str, pack):
    images = written(tmp_path, name, pack(idx_bytes(IMAGES, X)))
    labels = written(tmp_path, "labels", pack(idx_bytes(LABELS, Y)))
    x, y = read_pair(images, labels, (4, 5), 3)
    assert (x.dtype, y.dtype) == (np.uint8, np.int64)
    assert np.array_equal(x, X[:, None])
    assert np.array_equal(y, Y)
    assert x.flags.writeable


@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["gzipped", "plain"])
@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "is truncated: it ends within its header"),
        (idx_bytes(IMAGES, X)[:9], "is truncated: it ends within its header"),
        (idx_bytes(IMAGES, X)[:-1], "is truncated: its header promises 60 values, but it holds 59"),
        (struct.pack(">4I", IMAGES, 2**32 - 1, 2**16, 2**16), "is truncated: its header promises"),
        (idx_bytes(IMAGES, X) + b"\0", "is damaged: it goes on after the 60 values"),
        (idx_bytes(LABELS, Y), "has the wrong magic number 2049; images have 2051: it holds labels"),
        (b"<html>no such page</html>", "has the wrong magic number 1013478509; images have 2051: it is no such file"),
    ],
)
def test_a_wrong_file_is_named_in_one_sentence(tmp_path: Path, pack, content: bytes, named: str):
    path = written(tmp_path, "images", pack(content))
    with pytest.raises(UserError) as error:
        read_idx(path, IMAGES)
    assert str(error.value).startswith(f"{path} {named}")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda content: content[:-9], "is truncated: its gzip stream breaks off"),
        (lambda content: content[:-8] + b"01234567", "is damaged: its gzip stream cannot be read"),
        (lambda content: content[:10] + b"\xff" * 9 + content[19:], "is damaged: its gzip stream cannot be read"),
    ],
)
def test_a_broken_gzip_stream_is_named(tmp_path: Path, damage, named: str):
    path = written(tmp_path, "images.gz", damage(gzip.compress(idx_bytes(IMAGES, X))))
    with pytest.raises(UserError) as error:
        read_idx(path, IMAGES)
    assert str(error.value) == f"{path} {named}"


@pytest.mark.parametrize(
    ("x", "y", "named"),
    [
        (X, Y[:2], "images holds 3 images, but {folder}/labels holds 2 labels"),
        (X.reshape(3, 5, 4), Y, "images holds images of 5×4 pixels, not of 4×5"),
        (X[:0], Y[:0], "images holds no images"),
        (X, Y + 1, "labels holds the label 3, but labels go from 0 to 2"),
    ],
)
def test_images_and_labels_that_do_not_match_are_refused(tmp_path: Path, x: np.ndarray, y: np.ndarray, named: str):
    images = written(tmp_path, "images", idx_bytes(IMAGES, x))
    labels = written(tmp_path, "labels", idx_bytes(LABELS, y))
    with pytest.raises(UserError) as error:
        read_pair(images, labels, (4, 5), 3)
    assert str(error.value) == f"{tmp_path}/{named.format(folder=tmp_path)}"
