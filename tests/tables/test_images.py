from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scnf.errors import UserError
from scnf.tables.images import read_image_folder


def _save(path: Path, mode: str = "L", size: tuple[int, int] = (6, 4), value: int = 7) -> Path:
    """Save an image of this height and width in one tone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tone = value if mode in ("1", "L", "P", "I;16", "I", "F") else tuple([value] * (len(mode) - 1) + [255])
    Image.new(mode, (size[1], size[0]), tone if mode != "RGB" else (value, 0, 255)).save(path)
    return path


def test_classes_and_unlabeled(tmp_path):
    _save(tmp_path / "кот" / "b.png", value=1)
    _save(tmp_path / "кот" / "a.BMP", value=2)
    _save(tmp_path / "dog" / "c.png", value=3)
    _save(tmp_path / "unlabeled" / "d.png", value=4)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "dog" / ".hidden.png").write_text("no image")
    (tmp_path / ".cache").mkdir()
    found = read_image_folder(tmp_path)
    assert found.images.shape == (4, 1, 6, 4)
    assert found.images.dtype == np.uint8
    assert found.labels.tolist() == ["dog", None, "кот", "кот"]
    assert found.images[:, 0, 0, 0].tolist() == [3, 4, 2, 1]
    assert [path.name for path in found.files] == ["c.png", "d.png", "a.BMP", "b.png"]


def test_a_flat_folder_has_no_labels(tmp_path):
    for name in ("b.png", "a.png"):
        _save(tmp_path / name, "RGB")
    (tmp_path / "empty").mkdir()
    found = read_image_folder(tmp_path)
    assert found.images.shape == (2, 3, 6, 4)
    assert found.images[0, :, 0, 0].tolist() == [7, 0, 255]
    assert found.labels.tolist() == [None, None]
    assert [path.name for path in found.files] == ["a.png", "b.png"]


@pytest.mark.parametrize(
    ("mode", "channels"), [("L", 1), ("1", 1), ("LA", 1), ("RGB", 3), ("RGBA", 3), ("P", 3), ("CMYK", 3)]
)
def test_modes(tmp_path, mode, channels):
    _save(tmp_path / ("a.tif" if mode == "CMYK" else "a.png"), mode)
    assert read_image_folder(tmp_path).images.shape == (1, channels, 6, 4)
    assert read_image_folder(tmp_path, color=False).images.shape == (1, 1, 6, 4)
    assert read_image_folder(tmp_path, color=True).images.shape == (1, 3, 6, 4)


def test_the_size_is_height_and_width(tmp_path):
    _save(tmp_path / "a.png", size=(6, 4))
    _save(tmp_path / "b.png", size=(9, 9))
    found = read_image_folder(tmp_path, size=(8, 5))
    assert found.images.shape == (2, 1, 8, 5)
    assert (found.images == 7).all()
    with pytest.raises(UserError, match="at least 1 pixel, got 0×5"):
        read_image_folder(tmp_path, size=(0, 5))


def test_cameras_tell_which_side_is_up(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (8, 4)).save(tmp_path / "a.jpg", exif=exif)
    assert read_image_folder(tmp_path).images.shape == (1, 1, 8, 4)


def _frames(path: Path) -> None:
    Image.new("L", (4, 4)).save(path, save_all=True, append_images=[Image.new("L", (4, 4), 255)])


def _cut(path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda d: [_save(d / "a.png"), _save(d / "b.png", size=(5, 4))], r"b\.png has 5×4 pixels .*a\.png has 6×4"),
        (lambda d: [_save(d / "a.png"), _save(d / "b.png", "RGB")], r"b\.png is in colour, but .*a\.png is grey"),
        (lambda d: [_save(d / "a.png"), _save(d / "x" / "b.png")], r"images beside its folders, such as a\.png"),
        (lambda d: [_save(d / "x" / "y" / "a.png")], r"y is a folder in the folder of a class"),
        (lambda d: [_save(d / "x" / "a.png"), (d / "y").mkdir()], r"y holds no images \(.*\.png"),
        (lambda d: None, r"holds no images \(.*\) and no folders of them"),
        (lambda d: (d / "a.png").write_bytes(b""), r"a\.png is damaged or not an image"),
        (lambda d: (d / "a.png").write_text("hello"), r"a\.png is damaged or not an image"),
        (lambda d: _cut(d / "a.png"), r"a\.png is damaged or not an image"),
        (lambda d: _save(d / "a.png", "I;16"), r"a\.png has more than 8 bits a pixel"),
        (lambda d: Image.new("RGBA", (4, 4), (0, 0, 0, 9)).save(d / "a.png"), r"a\.png has transparent pixels"),
        (lambda d: _frames(d / "a.gif"), r"a\.gif holds 2 pictures"),
    ],
)
def test_refused(tmp_path, make, why):
    make(tmp_path)
    with pytest.raises(UserError, match=why):
        read_image_folder(tmp_path)


@pytest.mark.parametrize(
    ("other", "ways"),
    [
        ({"size": (5, 4)}, r"\(size=, .* --image-size\)"),
        ({"mode": "RGB"}, r"\(color=, .* --image-grey or --image-color\)"),
    ],
)
def test_images_that_differ_can_be_made_alike(tmp_path, other, ways):
    _save(tmp_path / "a.png")
    _save(tmp_path / "b.png", **other)
    with pytest.raises(UserError, match=f"{ways}$"):
        read_image_folder(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        read_image_folder(tmp_path / "none")
    with pytest.raises(UserError, match="is not a folder"):
        read_image_folder(_save(tmp_path / "a.png"))


def test_an_image_too_large(tmp_path, monkeypatch):
    _save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(UserError, match=r"a\.png is too large"):
        read_image_folder(tmp_path)
