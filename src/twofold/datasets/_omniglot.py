"""Omniglot's two small background sets: characters of several alphabets, each by 20 people."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from twofold._core.caches import fingerprint
from twofold._core.checks import check_choice, check_count
from twofold.datasets._archives import zipped_files
from twofold.datasets._data_folder import data_folder
from twofold.datasets._decoded_cache import decoded_once
from twofold.datasets._decoding import ImageFile
from twofold.datasets._places import download_call

OmniglotPart = Literal["small1", "small2"]

SIDE = 105
FILE_NAME = re.compile(r"\d+_(\d+)\.png")
PNG = b"\x89PNG\r\n\x1a\n"
MAX_FILE_BYTES = 2**16
"""The official files have 413 at most."""


@dataclass(frozen=True, slots=True, eq=False)
class OmniglotSet:
    """Drawn characters.

    Attributes
    ----------
    images : ndarray of uint8, shape (n_items, 1, size, size)
        Brightness from 0 to 255; ink is bright on a dark ground, as in MNIST, where the official
        files have it black on white.
    classes : ndarray of int64, shape (n_items,)
        The character, as its position in `class_names`.
    class_names : tuple of str
        ``<alphabet>/<character>``, sorted. Equal names are the same character in both sets.
    alphabets : ndarray of int64, shape (n_items,)
        Positions in `alphabet_names`.
    alphabet_names : tuple of str
        Names of the alphabets, sorted.
    drawers : ndarray of int64, shape (n_items,)
        Who drew it: 1 to 20, of each alphabet other people.
    """

    images: NDArray[np.uint8]
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]
    alphabets: NDArray[np.int64]
    alphabet_names: tuple[str, ...]
    drawers: NDArray[np.int64]


def load_omniglot(
    part: OmniglotPart = "small1",
    data_dir: str | os.PathLike[str] | None = None,
    *,
    size: int = SIDE,
    progress: Callable[[int, int], None] | None = None,
) -> OmniglotSet:
    """Read one of Omniglot's "minimal" background sets.

    Greek and Latin are in both, the same drawings of the same characters: whoever learns from one
    set and scores kinds never seen on the other leaves them out of it. Images are decoded once and
    then kept in a cache, in the folder given by the variable TWOFOLD_CACHE, by default
    ``~/.cache/twofold``.

    Parameters
    ----------
    part : {"small1", "small2"}
        136 characters of Balinese, Early Aramaic, Greek, Korean and Latin, or 156 of Greek,
        Japanese (katakana), Latin, Sanskrit and Tagalog; 20 drawings of each.
    data_dir : path, optional
        A folder with ``omniglot/`` in it, which holds the official ``images_background_small1.zip``
        and ``images_background_small2.zip``; by default the one in the variable TWOFOLD_DATA.
    size : int
        Height and width of the images, at most 105, the official one. A smaller image has the mean
        of the pixels whose centres lie in each of its areas.
    progress : callable, optional
        Called with the number of images decoded so far and in total, if they must be decoded.
    """
    check_choice("part", part, get_args(OmniglotPart))
    if check_count("size", size) > SIDE:
        raise ValueError(f"size must be at most {SIDE}, the size of the drawings, got {size}.")
    archive = _find(data_folder(data_dir), part)

    def prepare(image: Image.Image) -> Image.Image:
        if image.size != (SIDE, SIDE):
            wide, high = image.size
            raise ValueError(f"it has {wide} × {high} pixels and not {SIDE} × {SIDE}")
        return ImageOps.invert(image).resize((size, size), Image.Resampling.BOX)

    images, names = decoded_once(
        f"omniglot-{part}-{size}-{fingerprint([(archive.name, archive.stat())])}",
        lambda: _image_files(archive, part),
        prepare,
        size,
        progress,
        mode="L",
    )
    paths = [PurePosixPath(name) for name in names]
    class_names, classes = np.unique([str(path.parent) for path in paths], return_inverse=True)
    alphabet_names, alphabets = np.unique([path.parts[0] for path in paths], return_inverse=True)
    return OmniglotSet(
        images=np.array(images),
        classes=classes.astype(np.int64),
        class_names=tuple(class_names.tolist()),
        alphabets=alphabets.astype(np.int64),
        alphabet_names=tuple(alphabet_names.tolist()),
        drawers=np.array([int(path.stem.rpartition("_")[2]) for path in paths], dtype=np.int64),
    )


def _find(data: Path, part: OmniglotPart) -> Path:
    """Return where a set's archive is."""
    archive = data / "omniglot" / f"{_top(part)}.zip"
    if not archive.is_file():
        raise FileNotFoundError(
            f"Omniglot is not complete: put {archive.name} into {archive.parent}, or get it with "
            f"{download_call('omniglot', data)}."
        )
    return archive


def _top(part: OmniglotPart) -> str:
    return f"images_background_{part}"


def _image_files(archive: Path, part: OmniglotPart) -> list[ImageFile]:
    """Return every drawing of an archive, sorted by name: <alphabet>/<character>/<file>."""
    files = []
    for path, content in zipped_files(archive, MAX_FILE_BYTES):
        parts = path.parts
        if len(parts) != 4 or parts[0] != _top(part) or not FILE_NAME.fullmatch(path.name):
            raise ValueError(
                f"{archive} holds {path}, which is no {_top(part)}/<alphabet>/<character>/"
                "<number>_<drawer>.png: put the official file there."
            )
        if not content.startswith(PNG):
            raise ValueError(
                f"{archive / path} is named a PNG but is not one: it begins with "
                f"0x{content[:4].hex()}: put the official file there."
            )
        files.append(ImageFile("/".join(parts[1:]), content, archive / path))
    if not files:
        raise ValueError(f"{archive} holds no drawings: put the official file there.")
    return sorted(files, key=lambda file: file.name)
