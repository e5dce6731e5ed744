"""CIFAR-10: 60,000 colour images of 32×32 pixels, from the official binary batches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.datasets._archives import archive_files
from twofold.datasets._data_folder import data_folder
from twofold.datasets._image_set import ImageSet, Part
from twofold.datasets._places import download_hint, place_of

SHAPE = (3, 32, 32)
N_PIXELS = 3 * 32 * 32
CLASS_NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
BATCHES = {
    "train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    "test": ("test_batch.bin",),
}
FOLDER, ARCHIVE = "cifar-10-batches-bin", "cifar-10-binary.tar.gz"
PYTHON_VERSION = ("cifar-10-batches-py", "cifar-10-python.tar.gz", "data_batch_1")
"""Names that only CIFAR-10's Python version has: pickles, which could run code when opened."""


def load_cifar10(part: Part = "train", data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Read CIFAR-10's official train or test part, binary version.

    Parameters
    ----------
    part : {"train", "test"}
        50,000 or 10,000 images of three channels.
    data_dir : path, optional
        A folder with ``cifar-10-batches-bin/`` or ``cifar-10-binary.tar.gz`` in it, or in its
        folder ``cifar10/``; by default the one in the variable TWOFOLD_DATA. Unpacked files take
        precedence over an archive.
    """
    check_choice("part", part, get_args(Part))
    folder = data_folder(data_dir)
    source = _find(folder, BATCHES[part])
    contents = _read(source, BATCHES[part])
    missing = [name for name in BATCHES[part] if name not in contents]
    if missing:
        raise FileNotFoundError(
            f"CIFAR-10 is not complete, {missing[0]} is not in {source}: put it there, or "
            f"{download_hint('cifar10', folder)}."
        )
    batches = [_records(contents[name], source / name) for name in BATCHES[part]]
    records = np.concatenate(batches)
    images = records[:, 1:].reshape(-1, *SHAPE)
    return ImageSet(images, records[:, 0].astype(np.int64), CLASS_NAMES)


def _find(folder: Path, batches: tuple[str, ...]) -> Path:
    """Return the folder or the archive that the set is in, folders first."""
    folders = (folder / "cifar10" / FOLDER, folder / FOLDER, folder / "cifar10")
    for place in folders:
        if any((place / name).is_file() for name in batches):
            return place
    for place in (folder / "cifar10" / ARCHIVE, folder / ARCHIVE):
        if place.is_file():
            return place
    for name in PYTHON_VERSION:
        for place in (folder / "cifar10" / name, folder / name):
            if place.exists():
                raise FileNotFoundError(
                    f"{place} is the Python version of CIFAR-10, which consists of pickles, and "
                    f"these are never read: put the binary version, {ARCHIVE}, into "
                    f"{folder / 'cifar10'}, or {download_hint('cifar10', folder)}."
                )
    raise FileNotFoundError(
        f"CIFAR-10 is not in {folder}: {place_of('cifar10', folder)}; or "
        f"{download_hint('cifar10', folder)}."
    )


def _read(source: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Return the content of those of the named files that are in a folder or an archive."""
    if source.is_dir():
        return {name: (source / name).read_bytes() for name in names if (source / name).is_file()}
    files = archive_files(source, lambda path: path.name in names)
    return {path.name: content for path, content in files}


def _records(content: bytes, place: Path) -> NDArray[np.uint8]:
    """Return rows of a label's byte and 3,072 bytes: red, green, blue, each row by row."""
    n_records, rest = divmod(len(content), 1 + N_PIXELS)
    if rest or not n_records:
        raise ValueError(
            f"{place} is damaged: it has {len(content)} bytes, and every image takes "
            f"{1 + N_PIXELS}: get it again."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(n_records, 1 + N_PIXELS)
    wrong = np.flatnonzero(records[:, 0] >= len(CLASS_NAMES))
    if wrong.size:
        raise ValueError(
            f"{place} holds {wrong.size} label(s) outside 0 .. {len(CLASS_NAMES) - 1}, first at "
            f"image {wrong[0]} ({records[wrong[0], 0]}): get it again."
        )
    return records
