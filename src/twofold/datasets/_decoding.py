"""Image files to arrays of one size: decoded, scaled, and cropped to the centre, by pillow."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

DAMAGE = (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError)
"""What pillow raises of a file that is no image, or no whole one."""

CHUNK = 1024
"""So many images at most wait, decoded, to be taken."""

Preparation = Callable[[Image.Image], Image.Image]
Mode = Literal["RGB", "L"]
"""What an image becomes: red, green and blue, or grey."""
N_CHANNELS: dict[Mode, int] = {"RGB": 3, "L": 1}


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image not yet decoded.

    Attributes
    ----------
    name : str
        What it is called in its set.
    content : Path or bytes
        Where it lies, or what was read of it already.
    place : Path
        What an error calls it.
    """

    name: str
    content: Path | bytes
    place: Path


def decode_all(
    files: Sequence[ImageFile], prepare: Preparation, mode: Mode = "RGB"
) -> Iterator[NDArray[np.uint8]]:
    """Yield each file's image, shape (3 or 1, height, width), in order; pillow works in threads."""
    with ThreadPoolExecutor() as threads:
        for start in range(0, len(files), CHUNK):
            chunk = files[start : start + CHUNK]
            yield from threads.map(lambda file: decode(file, prepare, mode), chunk)


def decode(file: ImageFile, prepare: Preparation, mode: Mode = "RGB") -> NDArray[np.uint8]:
    """Return one file's image as red, green and blue, or grey, shape (3 or 1, height, width)."""
    opened = io.BytesIO(file.content) if isinstance(file.content, bytes) else file.content
    try:
        with Image.open(opened) as image:
            prepared = prepare(image.convert(mode))
    except DAMAGE as error:
        raise ValueError(
            f"{file.place} cannot be read as an image ({error}): get it again, or remove it from "
            "the set."
        ) from error
    pixels = np.asarray(prepared, dtype=np.uint8)
    return pixels.reshape(*pixels.shape[:2], N_CHANNELS[mode]).transpose(2, 0, 1)


def scale_to_square(image: Image.Image, side: int) -> Image.Image:
    """Scale both sides to `side`, bicubic, and smoothed first where that makes it smaller."""
    return image.resize((side, side), Image.Resampling.BICUBIC)


def scale_shorter_side(image: Image.Image, side: int) -> Image.Image:
    """Scale the shorter side to `side`, the other in proportion."""
    scale = side / min(image.size)
    width, height = (round(scale * length) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


def central_square(image: Image.Image, side: int) -> Image.Image:
    """Return the central `side` × `side` pixels; where the margin is odd, the left is smaller."""
    left, top = ((length - side) // 2 for length in image.size)
    return image.crop((left, top, left + side, top + side))
