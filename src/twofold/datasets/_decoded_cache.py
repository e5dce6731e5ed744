"""Decoded images are kept, so that a set's image files are decoded once.

A set's images lie in a folder of their own in the cache: ``images.npy``, which is opened without
being read into memory, and ``names.json``. The folder's name holds a fingerprint of the files that
the images come from, so that changed files are decoded again. Any of it may be deleted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twofold._core.caches import VARIABLE, cache_folder
from twofold._core.files import new_folder
from twofold.datasets._decoding import N_CHANNELS, ImageFile, Mode, Preparation, decode_all

IMAGES, NAMES = "images.npy", "names.json"

Decoded = tuple[NDArray[np.uint8], list[str]]
"""Images, shape (n, 3 or 1, side, side), as a memory map, and their names."""


def decoded_once(
    entry_name: str,
    files: Callable[[], Sequence[ImageFile]],
    prepare: Preparation,
    side: int,
    progress: Callable[[int, int], None] | None,
    mode: Mode = "RGB",
) -> Decoded:
    """Return images from the cache, where they are put first if they are not there.

    Parameters
    ----------
    entry_name : str
        Names the set, how its images are prepared, and the files they come from.
    files : callable
        Gives the image files; asked only if they have to be decoded.
    prepare : callable
        Turns an image into one of `side` × `side` pixels.
    side : int
        Width and height of the images.
    progress : callable or None
        Called with the number of decoded images and of all.
    mode : {"RGB", "L"}
        Whether images are of three channels, or grey.
    """
    entry = cache_folder() / entry_name
    kept = _open(entry)
    if kept is not None:
        return kept
    _write(entry, files(), prepare, side, progress, mode)
    written = _open(entry)
    if written is None:
        raise OSError(f"{entry} was written but cannot be read: set {VARIABLE} to another folder.")
    return written


def _open(entry: Path) -> Decoded | None:
    """Return what an entry of the cache holds, None if it is not there or damaged."""
    try:
        names = json.loads((entry / NAMES).read_text(encoding="utf-8"))
        # Copy on write: torch warns of arrays that cannot be written to.
        images = np.lib.format.open_memmap(entry / IMAGES, mode="c")
    except (OSError, ValueError):
        return None
    return (images, names) if len(images) == len(names) else None


def _write(
    entry: Path,
    files: Sequence[ImageFile],
    prepare: Preparation,
    side: int,
    progress: Callable[[int, int], None] | None,
    mode: Mode,
) -> None:
    """Decode into a new entry of the cache, which is there whole or not at all."""
    shape = (len(files), N_CHANNELS[mode], side, side)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(entry, marker=IMAGES) as folder:
            names = json.dumps([file.name for file in files])
            (folder / NAMES).write_text(names, encoding="utf-8")
            # Written row by row, because a memory map on a full disk ends the process.
            with (folder / IMAGES).open("wb") as rows:
                header = {"descr": "|u1", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(rows, header)
                for n_done, image in enumerate(decode_all(files, prepare, mode), start=1):
                    rows.write(image.tobytes())
                    if progress is not None:
                        progress(n_done, len(files))
    except OSError as error:
        raise OSError(
            f"The decoded images cannot be kept in {entry.parent} ({error}): set {VARIABLE} to a "
            f"writable folder with {np.prod(shape) / 1e9:.2g} GB free."
        ) from error
