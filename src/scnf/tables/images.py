"""Folders of small images: one folder for each class, one called ``unlabeled``, or none at all."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from scnf.errors import UserError

UNLABELED_FOLDER = "unlabeled"
_ENDINGS = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"))
_DEEP = ("I", "F")  # modes with more than 8 bits a pixel begin so


class ImageFolder(NamedTuple):
    """Images ``[N, C, H, W]`` in uint8, names of their classes ``[N]`` (None without a label), and their files."""

    images: np.ndarray
    labels: np.ndarray
    files: list[Path]


def read_image_folder(
    folder: str | Path, size: tuple[int, int] | None = None, color: bool | None = None
) -> ImageFolder:
    """Read ``class_name/*.png`` and ``unlabeled/*.png``, or a folder of images without labels, in order of name.

    All images must have one size, unless ``size`` (height, width) says to which they are stretched, and be all grey or
    all in colour, unless ``color`` says what they become.
    """
    if size is not None and min(size) < 1:
        raise UserError(f"a size is a height and a width of at least 1 pixel, got {size[0]}×{size[1]}")
    files, labels = list_image_folder(folder)
    first = read_image(files[0], size, color)
    images = np.empty((len(files), *first.shape), dtype=np.uint8)
    for index, file in enumerate(files):
        image = read_image(file, size, color)
        _check_alike(file, image, files[0], first)
        images[index] = image
    return ImageFolder(images, labels, files)


def list_image_folder(folder: str | Path) -> tuple[list[Path], np.ndarray]:
    """Return the image files of a folder, in order of name, and the names of their classes ``[N]``."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder} does not exist" if not folder.exists() else f"{folder} is not a folder")
    files, labels = _find(folder)
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    return files, y


def _find(folder: Path) -> tuple[list[Path], list[str | None]]:
    """Return the image files and the names of their classes."""
    here = _images_in(folder)
    classes = [path for path in _visible(folder) if path.is_dir()]
    if here and any(_images_in(path) for path in classes):
        raise UserError(
            f"{folder} has images beside its folders, such as {here[0].name}; those without a label belong into "
            f"{folder / UNLABELED_FOLDER}"
        )
    if here:
        return here, [None] * len(here)
    files: list[Path] = []
    labels: list[str | None] = []
    for path in classes:
        if deeper := [inner for inner in _visible(path) if inner.is_dir()]:
            raise UserError(f"{deeper[0]} is a folder in the folder of a class; images must lie in {path} itself")
        found = _images_in(path)
        if not found:
            raise UserError(f"{path} holds no images ({', '.join(sorted(_ENDINGS))})")
        files += found
        labels += [None if path.name == UNLABELED_FOLDER else path.name] * len(found)
    if not files:
        raise UserError(f"{folder} holds no images ({', '.join(sorted(_ENDINGS))}) and no folders of them")
    return files, labels


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _images_in(folder: Path) -> list[Path]:
    return [path for path in _visible(folder) if path.is_file() and path.suffix.lower() in _ENDINGS]


def read_image(path: Path, size: tuple[int, int] | None = None, color: bool | None = None) -> np.ndarray:
    """Return one image ``[C, H, W]`` in uint8, stretched or made grey or coloured if that is asked for."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as opened:
                frames = getattr(opened, "n_frames", 1)
                if frames > 1:
                    raise UserError(f"{path} holds {frames} pictures; one to a file is right")
                opened.load()
                # Cameras tell by a tag which side is up.
                image = ImageOps.exif_transpose(opened)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UserError(f"{path} is too large for an image to learn from") from error
    except UserError:
        raise
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise UserError(f"{path} is damaged or not an image") from error
    image = _eight_bits(path, image)
    if color is not None:
        image = image.convert("RGB" if color else "L")
    if size is not None:
        image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)


def _eight_bits(path: Path, image: Image.Image) -> Image.Image:
    """Return an image in mode L or RGB."""
    if image.mode.startswith(_DEEP):
        raise UserError(f"{path} has more than 8 bits a pixel (mode {image.mode}); save it with 8")
    if image.has_transparency_data and np.asarray(image.convert("RGBA").getchannel("A")).min() < 255:
        raise UserError(f"{path} has transparent pixels; save it without transparency")
    return image.convert("L" if image.mode in ("1", "L", "LA") else "RGB")


def _check_alike(file: Path, image: np.ndarray, first_file: Path, first: np.ndarray) -> None:
    if image.shape[1:] != first.shape[1:]:
        found, usual = (f"{shape[1]}×{shape[2]}" for shape in (image.shape, first.shape))
        raise UserError(
            f"{file} has {found} pixels (height×width), but {first_file} has {usual}; give them one size, "
            "or choose one to which all are stretched (size=, on the command line --image-size)"
        )
    if len(image) != len(first):
        found, usual = ("in colour" if len(channels) == 3 else "grey" for channels in (image, first))
        raise UserError(
            f"{file} is {found}, but {first_file} is {usual}; make them alike, or choose whether all become grey "
            "or colour (color=, on the command line --image-grey or --image-color)"
        )
