"""Decoded images are kept, so that a user's files are decoded once.

An entry is a folder: ``images.npy``, opened without being read into memory, and
``unreadable.json``. Its name holds a fingerprint of the files' names, sizes and times of change, so
that changed files are decoded again. Any of it may be deleted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twofold._core.caches import fingerprint
from twofold._core.files import new_folder
from twofold.preparation._image_decoding import Frame, decode_all

IMAGES, UNREADABLE = "images.npy", "unreadable.json"
VERSION = 1
"""Of the decoding: another one, other pixels."""

Decoded = tuple[NDArray[np.uint8], dict[int, str]]
"""Images, blank where a file is unreadable, and why it is, by row."""


def decode_in_memory(paths: Sequence[Path], frame: Frame) -> Decoded:
    """Return all images, shape (n, channels, height, width)."""
    images = np.empty((len(paths), *frame.shape), dtype=np.uint8)
    unreadable: dict[int, str] = {}
    n_done = 0
    for some, why in decode_all(paths, frame):
        images[n_done : n_done + len(some)] = some
        unreadable |= why
        n_done += len(some)
    return images, unreadable


def decode_once(paths: Sequence[Path], frame: Frame, cache: Path) -> Decoded:
    """Return all images as a memory map from the cache, where they are put first if need be."""
    shape = "x".join(map(str, frame.shape))
    entry = cache / f"images-{VERSION}-{shape}-{_fingerprint(paths)}"
    kept = _open(entry, len(paths), frame)
    if kept is None:
        _write(entry, paths, frame)
        kept = _open(entry, len(paths), frame)
    if kept is None:
        raise OSError(f"{entry} was written but cannot be read: choose another folder as cache.")
    return kept


def _fingerprint(paths: Sequence[Path]) -> str:
    # The row is part of the name: a file that is missing has no size, but it has a place.
    there = ((f"{row}:{path.absolute()}", path) for row, path in enumerate(paths))
    return fingerprint((name, path.stat()) for name, path in there if path.is_file())


def _open(entry: Path, n_images: int, frame: Frame) -> Decoded | None:
    """Return what an entry holds, None if it is not there or damaged."""
    try:
        unreadable = json.loads((entry / UNREADABLE).read_text(encoding="utf-8"))
        # Copy on write: torch warns of arrays that cannot be written to.
        images = np.lib.format.open_memmap(entry / IMAGES, mode="c")
        why = {int(row): str(reason) for row, reason in unreadable.items()}
    except (OSError, ValueError, AttributeError):
        return None
    is_whole = images.shape == (n_images, *frame.shape) and images.dtype == np.uint8
    return (images, why) if is_whole and all(0 <= row < n_images for row in why) else None


def _write(entry: Path, paths: Sequence[Path], frame: Frame) -> None:
    """Decode into a new entry, which is there whole or not at all."""
    shape = (len(paths), *frame.shape)
    unreadable: dict[int, str] = {}
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(entry, marker=IMAGES) as folder:
            # Written row by row, because a memory map on a full disk ends the process.
            with (folder / IMAGES).open("wb") as rows:
                header = {"descr": "|u1", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(rows, header)
                for some, why in decode_all(paths, frame):
                    rows.write(some.tobytes())
                    unreadable |= why
            (folder / UNREADABLE).write_text(json.dumps(unreadable), encoding="utf-8")
    except OSError as error:
        raise OSError(
            f"The decoded images cannot be kept in {entry.parent} ({error}): choose a writable "
            f"folder as cache, with {np.prod(shape) / 1e9:.2g} GB free."
        ) from error
