"""CIFAR-10: 60,000 colour images of 32×32 pixels, from the official binary or Python batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.datasets._archives import archive_files
from twofold.datasets._cifar10_pickles import N_PIXELS, read_python_batch
from twofold.datasets._data_folder import data_folder
from twofold.datasets._image_set import ImageSet, Part
from twofold.datasets._places import download_hint, place_of

SHAPE = (3, 32, 32)
CLASS_NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
BATCHES = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Images as rows of bytes, shape (n, 3072), and their labels, shape (n,)."""


def load_cifar10(part: Part = "train", data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Read CIFAR-10's official train or test part.

    Parameters
    ----------
    part : {"train", "test"}
        50,000 or 10,000 images of three channels.
    data_dir : path, optional
        A folder with ``cifar-10-batches-bin/``, ``cifar-10-batches-py/``,
        ``cifar-10-binary.tar.gz`` or ``cifar-10-python.tar.gz`` in it, or in its folder
        ``cifar10/``; by default what the variable TWOFOLD_DATA names. What is unpacked comes before
        an archive. Python batches are pickles, and are read without running what is in them.
    """
    check_choice("part", part, get_args(Part))
    folder = data_folder(data_dir)
    layout, source = _find(folder, BATCHES[part])
    names = [f"{batch}{layout.ending}" for batch in BATCHES[part]]
    contents = _read(source, names)
    missing = [name for name in names if name not in contents]
    if missing:
        raise FileNotFoundError(
            f"CIFAR-10 is not complete, {missing[0]} is not in {source}: put it there, or "
            f"{download_hint('cifar10', folder)}."
        )
    batches = [layout.read(contents[name], source / name) for name in names]
    for name, (_, labels) in zip(names, batches, strict=True):
        _check_labels(labels, source / name)
    images = np.concatenate([images for images, _ in batches])
    classes = np.concatenate([labels for _, labels in batches])
    return ImageSet(images.reshape(-1, *SHAPE), classes, CLASS_NAMES)


def _read_binary_batch(content: bytes, place: Path) -> Batch:
    """Read records of a label's byte and 3,072 bytes: red, green, blue, each row by row."""
    n_records, rest = divmod(len(content), 1 + N_PIXELS)
    if rest or not n_records:
        raise ValueError(
            f"{place} is damaged, it holds {len(content)} bytes where every image takes "
            f"{1 + N_PIXELS}: get it again."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(n_records, 1 + N_PIXELS)
    return records[:, 1:], records[:, 0].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Layout:
    """One of the two official forms: what it is called, and how a batch is read."""

    folder: str
    archive: str
    ending: str
    read: Callable[[bytes, Path], Batch]


LAYOUTS = (
    _Layout("cifar-10-batches-bin", "cifar-10-binary.tar.gz", ".bin", _read_binary_batch),
    _Layout("cifar-10-batches-py", "cifar-10-python.tar.gz", "", read_python_batch),
)


def _find(folder: Path, batches: tuple[str, ...]) -> tuple[_Layout, Path]:
    """Return the first form of the set that is there, and its folder or archive."""
    for layout, source in _sources(folder):
        names = [f"{batch}{layout.ending}" for batch in batches]
        if source.is_file() or any((source / name).is_file() for name in names):
            return layout, source
    raise FileNotFoundError(
        f"CIFAR-10 is not in {folder}: {place_of('cifar10', folder)}; or "
        f"{download_hint('cifar10', folder)}."
    )


def _sources(folder: Path) -> Iterator[tuple[_Layout, Path]]:
    """Yield where the set may lie, folders before archives."""
    for layout in LAYOUTS:
        yield layout, folder / "cifar10" / layout.folder
        yield layout, folder / layout.folder
        yield layout, folder / "cifar10"
    for layout in LAYOUTS:
        yield layout, folder / "cifar10" / layout.archive
        yield layout, folder / layout.archive


def _read(source: Path, names: list[str]) -> dict[str, bytes]:
    """Return the content of those of the named files that are in a folder or an archive."""
    if source.is_dir():
        return {name: (source / name).read_bytes() for name in names if (source / name).is_file()}
    files = archive_files(source, lambda path: path.name in names)
    return {path.name: content for path, content in files}


def _check_labels(labels: NDArray[np.int64], place: Path) -> None:
    wrong = np.flatnonzero((labels < 0) | (labels >= len(CLASS_NAMES)))
    if wrong.size:
        raise ValueError(
            f"{place} holds {wrong.size} label(s) outside 0 .. {len(CLASS_NAMES) - 1}, first at "
            f"image {wrong[0]} ({labels[wrong[0]]}): get it again."
        )
