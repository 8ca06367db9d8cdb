"""Images as people have them: ``[n, h, w]`` or ``[n, c, h, w]``, whole numbers or shares of full light."""

from dataclasses import dataclass

import numpy as np

from scnf.errors import UserError

_LEVELS = 256
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class ImageFormat:
    """What images look like: the shape of one as it was given, grey levels, and whether 1 is full light.

    Shares of full light are rounded to 256 levels: most images have no more, and a density of values that repeat
    exactly would have no bound.
    """

    shape: tuple[int, ...]
    levels: int
    shares: bool

    @classmethod
    def of(cls, x: np.ndarray) -> "ImageFormat":
        """Return the format of images ``[n, h, w]`` or ``[n, c, h, w]``."""
        if x.dtype.kind not in "biuf":
            raise UserError(f"images hold numbers, not values of type {x.dtype}")
        if x.ndim == 4 and x.shape[-1] in _CHANNELS and x.shape[1] not in _CHANNELS:
            raise UserError(
                f"images are [n, channels, height, width], but the shape {x.shape} looks like channels last; "
                "np.moveaxis(X, -1, 1) puts them first"
            )
        _check_values(x)
        low, high = float(x.min()), float(x.max())
        if low < 0:
            raise UserError(f"images hold shares from 0 to 1 or whole numbers from 0 up, but there is {low:g}")
        whole = x.dtype.kind in "biu" or bool((x == np.floor(x)).all())
        if not whole and high > 1:
            raise UserError(
                f"images hold shares from 0 to 1 or whole numbers from 0 up, but there is {high:g} beside shares"
            )
        if x.dtype == np.uint8 or not whole:
            return cls(tuple(x.shape[1:]), _LEVELS, not whole)
        if high > 65535:
            raise UserError(f"images of whole numbers have at most 65536 levels, but there is {high:g}")
        return cls(tuple(x.shape[1:]), max(int(high) + 1, 2), shares=False)

    @property
    def channels_first(self) -> tuple[int, int, int]:
        """The shape of one image as a model takes it."""
        return (1, *self.shape) if len(self.shape) == 2 else self.shape  # type: ignore[return-value]

    def to_rows(self, x: np.ndarray) -> np.ndarray:
        """Return images of this format as whole numbers ``[n, c, h, w]``."""
        if tuple(x.shape[1:]) != self.shape:
            raise UserError(f"the model takes images of shape {self.shape}, got {tuple(x.shape[1:])}")
        values = np.rint(x * (self.levels - 1)) if self.shares else x
        _check_values(values)
        if values.min() < 0 or values.max() >= self.levels or (values != np.floor(values)).any():
            right = "shares from 0 to 1" if self.shares else f"whole numbers from 0 to {self.levels - 1}"
            raise UserError(
                f"the model was trained on images of {right}, but there are values from {x.min():g} to {x.max():g}"
            )
        dtype = np.uint8 if self.levels <= 256 else np.int32
        return values.astype(dtype).reshape(-1, *self.channels_first)

    def from_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return images as they were given."""
        images = rows.reshape(-1, *self.shape)
        return images / (self.levels - 1) if self.shares else images


def _check_values(x: np.ndarray) -> None:
    if not x.size:
        raise UserError(f"an array of shape {x.shape} holds no images")
    if x.dtype.kind != "f":
        return
    finite = np.isfinite(x).reshape(len(x), -1).all(1)
    if not finite.all():
        image = int(finite.argmin()) + 1
        raise UserError(f"images must hold finite numbers alone, but image {image} has a NaN or an infinity")
