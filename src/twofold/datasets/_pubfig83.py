"""PubFig83: photographs of 83 people's faces, a folder a person; here 60×60 pixels of each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from twofold._core.caches import fingerprint
from twofold._core.checks import check_choice
from twofold._core.text_files import read_utf8
from twofold.datasets._archives import archive_files
from twofold.datasets._data_folder import data_folder
from twofold.datasets._decoded_cache import decoded_once
from twofold.datasets._decoding import ImageFile, central_square, scale_to_square
from twofold.datasets._image_set import ImageSet, Part
from twofold.datasets._places import place_of

SCALED_SIDE, SIDE = 100, 60
ENDINGS = (".jpg", ".jpeg", ".png")
ARCHIVE_ENDINGS = (".tar", ".tar.xz", ".tar.gz", ".tgz")
TEST_FILES = "test_files.txt"
TEST_SHARE = 0.1


def load_pubfig83(
    part: Part = "train",
    data_dir: str | os.PathLike[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> ImageSet:
    """Read the train or test part of PubFig83, people in alphabetical order.

    Every image is scaled to 100×100 pixels, and its central 60×60 are taken. They are decoded once
    and then kept in a cache, in the folder given by the variable TWOFOLD_CACHE, by default
    ``~/.cache/twofold``.

    Parameters
    ----------
    part : {"train", "test"}
        The test part is what ``test_files.txt`` lists, a line ``<person>/<file>`` each. Without
        that file it is a tenth of each person's images, at least one and never all, those whose
        names have the smallest SHA-256: the same on every machine.
    data_dir : path, optional
        A folder with ``pubfig83/`` in it, which holds ``<person>/<file>.jpg`` or ``.png``, or a tar
        archive ``pubfig83*`` of such folders; by default the one in the variable TWOFOLD_DATA.
    progress : callable, optional
        Called with the number of images decoded so far and in total, if they must be decoded.
    """
    check_choice("part", part, get_args(Part))
    data = data_folder(data_dir)
    source = _find(data)
    images, names = decoded_once(
        f"pubfig83-{SCALED_SIDE}-{SIDE}-{_fingerprint(source)}",
        lambda: _image_files(source, data),
        _prepare,
        SIDE,
        progress,
    )
    people = np.array([name.split("/")[0] for name in names])
    class_names, classes = np.unique(people, return_inverse=True)
    is_test = _is_test(names, data / "pubfig83" / TEST_FILES)
    rows = np.flatnonzero(is_test == (part == "test"))
    return ImageSet(
        np.asarray(images)[rows],
        classes[rows].astype(np.int64),
        tuple(str(name) for name in class_names),
    )


def _prepare(image: Image.Image) -> Image.Image:
    return central_square(scale_to_square(image, SCALED_SIDE), SIDE)


def _find(data: Path) -> Path:
    """Return the folder of people's folders, or else the archive."""
    folder = data / "pubfig83"
    for place in (folder, folder / "pubfig83"):
        if any(_is_image(path) for path in place.glob("*/*")):
            return place
    archives = sorted(p for p in folder.glob("pubfig83*") if p.name.endswith(ARCHIVE_ENDINGS))
    if len(archives) > 1:
        raise ValueError(
            f"{folder} holds {len(archives)} archives, {archives[0].name} and {archives[1].name} "
            "first: keep one."
        )
    if not archives:
        raise FileNotFoundError(f"PubFig83 is not in {data}: {place_of('pubfig83', data)}.")
    return archives[0]


def _is_image(path: PurePath) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def _name(path: PurePath) -> str:
    """Return the image's name in the set, <person>/<file>."""
    return f"{path.parent.name}/{path.name}"


def _fingerprint(source: Path) -> str:
    if source.is_file():
        return fingerprint([(source.name, source.stat())])
    return fingerprint((_name(path), path.stat()) for path in _images_in(source))


def _images_in(folder: Path) -> list[Path]:
    return sorted(filter(_is_image, folder.glob("*/*")), key=_name)


def _image_files(source: Path, data: Path) -> list[ImageFile]:
    """Return every image of a folder or an archive, sorted by name."""
    if source.is_dir():
        return [ImageFile(_name(path), path, path) for path in _images_in(source)]
    files = [
        ImageFile(_name(path), content, source / path)
        for path, content in archive_files(source, _is_image)
    ]
    if not files:
        raise FileNotFoundError(f"{source} holds no images: {place_of('pubfig83', data)}.")
    return sorted(files, key=lambda file: file.name)


def _is_test(names: Sequence[str], test_files: Path) -> NDArray[np.bool_]:
    """Return which of the named images are the test part."""
    if test_files.is_file():
        lines = read_utf8(test_files).splitlines()
        listed = {line.strip() for line in lines if line.strip()}
    else:
        listed = _tenth_of_each_person(names)
    unknown = sorted(listed.difference(names))
    if unknown:
        raise ValueError(
            f"{test_files} lists {len(unknown)} image(s) that are not in the set, first "
            f"{unknown[0]}: put them there, or delete the list for a split of our own."
        )
    return np.array([name in listed for name in names], dtype=np.bool_)


def _tenth_of_each_person(names: Sequence[str]) -> set[str]:
    """Return a tenth of each person's images: by hash, so no generator's version decides."""
    of_person: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest()):
        of_person.setdefault(name.split("/")[0], []).append(name)
    return {name for own in of_person.values() for name in own[: _n_test(len(own))]}


def _n_test(n_images: int) -> int:
    """Return a tenth, at least one, but never all."""
    return min(max(1, round(TEST_SHARE * n_images)), n_images - 1)
