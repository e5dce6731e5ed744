"""Image files to pixels of one size: drafted, turned upright, in grey or colour, by pillow."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from twofold._core.reasons import reason_of
from twofold._core.threads import allowed_threads

DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    TypeError,
    IndexError,
    KeyError,
    OverflowError,
    MemoryError,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""What pillow raises of a file that is no image, no whole one, or a bomb."""
TASK = 32
"""Images that a thread decodes at a time: handing one over costs as much as a small image."""
ORIENTATION = 0x0112
MODES = {1: "L", 3: "RGB"}


@dataclass(frozen=True, slots=True)
class Frame:
    """What every image becomes: channels (1 grey, 3 colour), height and width."""

    channels: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of one image."""
        return self.channels, self.height, self.width


@contextmanager
def bombs_are_errors() -> Iterator[None]:
    """Have pillow refuse images of absurd sizes instead of warning of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def decode_all(
    paths: Sequence[Path], frame: Frame
) -> Iterator[tuple[NDArray[np.uint8], dict[int, str]]]:
    """Yield images in order, some at a time, and why some of them are blank, by row."""
    starts = range(0, len(paths), TASK)
    n_threads = allowed_threads()
    with bombs_are_errors(), ThreadPoolExecutor(n_threads) as threads:
        # A few tasks for each thread at a time, so that what is decoded does not pile up.
        step = TASK * n_threads * 8
        for first in range(0, len(paths), step):
            ahead = [start for start in starts if first <= start < first + step]
            yield from threads.map(lambda start: _decode_some(paths, start, frame), ahead)


def _decode_some(
    paths: Sequence[Path], start: int, frame: Frame
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    some = paths[start : start + TASK]
    images = np.zeros((len(some), *frame.shape), dtype=np.uint8)
    unreadable = {}
    for number, path in enumerate(some):
        try:
            images[number] = decode(path, frame)
        except DAMAGE as error:
            unreadable[start + number] = reason_of(error)
    return images, unreadable


def decode(file: Path | IO[bytes], frame: Frame) -> NDArray[np.uint8]:
    """Return one image, shape (channels, height, width)."""
    mode = MODES[frame.channels]
    with Image.open(file) as image:
        is_drafted = image.format == "JPEG"
        if is_drafted:
            # A JPEG is decoded at an eighth, a quarter or half its size for the same price less.
            longest = max(frame.height, frame.width)
            image.draft(mode, (longest, longest))
        upright = _upright(image)
        plain = upright if upright.mode == mode else _converted(upright, mode)
        size = (frame.width, frame.height)
        scaled = plain if plain.size == size else plain.resize(size, Image.Resampling.BICUBIC)
        pixels = np.asarray(scaled, dtype=np.uint8)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def scaled_picture(path: Path, side: int) -> Any:
    """Return an image as pillow has it, upright, in grey or colour, no side longer than `side`."""
    with bombs_are_errors(), Image.open(path) as image:
        if image.format == "JPEG":
            image.draft(None, (side, side))
        upright = _upright(image)
        mode = "L" if upright.mode in ("1", "L", "I", "I;16", "F") else "RGB"
        plain = upright.copy() if upright.mode == mode else _converted(upright, mode)
        plain.thumbnail((side, side), Image.Resampling.BICUBIC)
        return plain


def _upright(image: Any) -> Any:
    """Return an image as its camera was held."""
    has_exif = "exif" in image.info or image.format == "TIFF"
    if has_exif and image.getexif().get(ORIENTATION, 1) != 1:
        return ImageOps.exif_transpose(image)
    return image


def _converted(image: Any, mode: str) -> Any:
    """Return an image in grey or colour: on white where it is transparent, of 16 bits the upper."""
    if image.mode.startswith("I"):
        values = np.asarray(image).astype(np.float64)
        largest = 65535 if values.max(initial=0) > 255 or image.mode != "I" else 255
        return Image.fromarray((np.clip(values / largest, 0, 1) * 255).astype(np.uint8)).convert(
            mode
        )
    if image.mode == "F":
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        scale = 255 if values.max(initial=0) <= 1 else 1
        return Image.fromarray(np.clip(values * scale, 0, 255).astype(np.uint8)).convert(mode)
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert(mode)
    return image.convert(mode)
