import json

import numpy as np
import pytest

from scnf.errors import UserError
from scnf.evaluation.packed_images import pack_images, unpack_images


def test_images_come_back_from_json_as_they_were():
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    packed = json.loads(json.dumps(pack_images(images)))
    assert np.array_equal(unpack_images(packed), images)


@pytest.mark.parametrize("damage", [{"zlib": "no base64!"}, {"zlib": "AAAA"}, {"shape": [9]}, {"shape": "x"}])
def test_damage_is_told(damage):
    packed = {**pack_images(np.zeros((1, 2, 2), np.uint8)), **damage}
    with pytest.raises(UserError, match="images of a record are damaged"):
        unpack_images(packed)


def test_only_bytes_are_packed():
    with pytest.raises(ValueError, match="must be bytes, got float64"):
        pack_images(np.zeros((1, 2, 2)))
