"""NUS-WIDE's images with their labels, decoded once into a memory map: 4.8 GB for the train part.

The official image list says which image each line of the ground truth is about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from PIL import Image

from twofold._core.caches import fingerprint
from twofold._core.checks import check_choice
from twofold._core.text_files import read_utf8
from twofold.datasets._data_folder import data_folder
from twofold.datasets._decoded_cache import decoded_once
from twofold.datasets._decoding import ImageFile, central_square, scale_shorter_side
from twofold.datasets._image_set import LabelledImages, Part
from twofold.datasets._nus_wide import load_nus_wide_labels
from twofold.datasets._places import place_of

SIDE = 100
IMAGE_FOLDERS = ("Flickr", "images")


def load_nus_wide(
    part: Part = "train",
    data_dir: str | os.PathLike[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> LabelledImages:
    """Read images and labels of NUS-WIDE's official train or test part.

    Every image's shorter side is scaled to 100 pixels, and its central 100×100 are taken. They are
    decoded once, into a file in the folder given by the variable TWOFOLD_CACHE, by default
    ``~/.cache/twofold``: 30 kB per image, 4.9 or 3.2 GB, of which only what is used is read into
    memory.

    Parameters
    ----------
    part : {"train", "test"}
        161,789 or 107,859 images.
    data_dir : path, optional
        A folder with ``nus_wide/`` in it, which holds the ground truth, see
        `load_nus_wide_labels`, the lists ``ImageList/{Train,Test}Imagelist.txt`` and the images,
        ``Flickr/<folder>/<file>.jpg`` or ``images/`` in place of ``Flickr/``, with or without the
        folders between; by default the one in the variable TWOFOLD_DATA.
    progress : callable, optional
        Called with the number of images decoded so far and in total, if they must be decoded.
    """
    check_choice("part", part, get_args(Part))
    data = data_folder(data_dir)
    truth = load_nus_wide_labels(part, data)
    image_list, names = _read_image_list(data, part)
    if len(names) != len(truth.labels):
        raise ValueError(
            f"{image_list} lists {len(names)} images but the ground truth has {len(truth.labels)} "
            "lines: they do not belong to the same set, get both again."
        )
    paths, stats = _find_images(data, names)
    images, _ = decoded_once(
        f"nus_wide-{part}-{SIDE}-{fingerprint(zip(names, stats, strict=True))}",
        lambda: [ImageFile(name, path, path) for name, path in zip(names, paths, strict=True)],
        _prepare,
        SIDE,
        progress,
    )
    return LabelledImages(images, truth.labels, truth.concepts)


def has_nus_wide_images(data_dir: str | os.PathLike[str] | None = None) -> bool:
    """Return whether NUS-WIDE's folder has one for images; labels alone are of use, too."""
    nus_wide = data_folder(data_dir) / "nus_wide"
    return any((nus_wide / folder).is_dir() for folder in IMAGE_FOLDERS)


def _prepare(image: Image.Image) -> Image.Image:
    return central_square(scale_shorter_side(image, SIDE), SIDE)


def _read_image_list(data: Path, part: Part) -> tuple[Path, list[str]]:
    """Return a list's path and its images as <folder>/<file>; the official list has backslashes."""
    path = data / "nus_wide" / "ImageList" / f"{part.capitalize()}Imagelist.txt"
    if not path.is_file():
        raise FileNotFoundError(
            f"NUS-WIDE's image list {path} is not there: {place_of('nus_wide', data)}."
        )
    lines = read_utf8(path).splitlines()
    return path, [line.strip().replace("\\", "/") for line in lines if line.strip()]


def _find_images(data: Path, names: Sequence[str]) -> tuple[list[Path], list[os.stat_result]]:
    """Return where the named images lie and the state of each file."""
    nus_wide = data / "nus_wide"
    places = [nus_wide / folder for folder in IMAGE_FOLDERS if (nus_wide / folder).is_dir()]
    images = [_find_image(places, name) for name in names]
    missing = [i for i, place in enumerate(images) if place is None]
    if missing:
        raise FileNotFoundError(
            f"{len(missing)} of NUS-WIDE's {len(names)} images are not there, first "
            f"{names[missing[0]]} (line {missing[0] + 1} of the image list): "
            f"{place_of('nus_wide', data)}."
        )
    whole = [place for place in images if place is not None]
    return [path for path, _ in whole], [stat for _, stat in whole]


def _find_image(places: Sequence[Path], name: str) -> tuple[Path, os.stat_result] | None:
    """Return the first place of an image, with its list's folder or without."""
    for place in places:
        for path in (place / name, place / name.rpartition("/")[2]):
            try:
                return path, path.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
    return None
