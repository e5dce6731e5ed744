"""A folder of images as a table: a row per file, and its class if there is one folder per class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
IMAGE, LABEL = "image", "label"
"""The table's columns."""


def read_image_folder(folder: Path) -> tuple[NDArray[Any], Any, tuple[str, ...]]:
    """Return the images of a folder and the folders in it, in the order of their names.

    Returns
    -------
    ids : ndarray of str objects, shape (n_images,)
        Paths relative to the folder, with slashes.
    table : pyarrow.Table
        Column "image", the same paths; and "label", the folder that an image lies in, if every
        image lies in one and there are at least two.
    notes : tuple of str
        How many other files were left alone, if any.
    """
    import pyarrow as pa

    images, n_others = _find_images(folder)
    if not images:
        raise ValueError(
            f"{folder} contains no image ({', '.join(IMAGE_SUFFIXES)}): give a folder of images, "
            "or a file."
        )
    columns = {IMAGE: images}
    labels = [name.rpartition("/")[0] for name in images]
    if all(labels) and len(set(labels)) > 1:
        columns[LABEL] = labels
    ids = np.array(images, dtype=object)
    notes = (f"{n_others} file(s) in {folder} are not images and were ignored.",)
    return ids, pa.table(columns), notes if n_others else ()


def _find_images(folder: Path) -> tuple[list[str], int]:
    """Return relative paths of images, sorted, and the number of other files; hidden ones aside."""
    images: list[str] = []
    n_others = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if name.startswith("."):
                continue
            path = Path(parent, name)
            if path.suffix.lower() in IMAGE_SUFFIXES:
                images.append(path.relative_to(folder).as_posix())
            else:
                n_others += 1
    _refuse_odd_names(folder, images)
    return sorted(images), n_others


def _refuse_odd_names(folder: Path, images: list[str]) -> None:
    for name in images:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                f"{folder} contains a file whose name is not UTF-8 ({name!a}): rename it."
            ) from None
