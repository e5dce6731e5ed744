"""Image files to arrays of one size, as a scikit-learn transformer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold._core.caches import cache_folder
from twofold._core.checks import check_count
from twofold._core.reasons import reason_of
from twofold._core.warnings import warn_user
from twofold.preparation._image_cache import decode_in_memory, decode_once
from twofold.preparation._image_decoding import DAMAGE, Frame, bombs_are_errors, decode
from twofold.preparation._stored import Stored

SAMPLE = 256
"""Images that are looked at for size and colour, evenly among all."""
LARGEST_AUTO = 64
"""Pixels of a side that size="auto" comes to at most: four times the work would be 128."""
LARGEST_SIDE = 4096
LARGEST_UNREADABLE = 0.01
"""The share of unreadable files that is skipped; above it something else is wrong."""
VERSION = 1


class ImageWarning(UserWarning):
    """Some image files cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class DecodedImages:
    """The images that could be read.

    Attributes
    ----------
    images : ndarray of uint8, shape (n_readable, channels, height, width)
        Their pixels.
    rows : ndarray of int64, shape (n_readable,)
        Which of the paths they are.
    unreadable : mapping of int to str
        Why the others cannot be read, by row.
    """

    images: NDArray[np.uint8]
    rows: NDArray[np.int64]
    unreadable: Mapping[int, str]


class ImagePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pixels of image files, all scaled to the same size.

    JPEGs are decoded at the next larger size (pillow's `draft`), pictures are turned upright by
    their EXIF orientation, transparent pixels become white, and both sides are scaled, so that
    images with other proportions are stretched.

    Parameters
    ----------
    size : "auto", int or (height, width)
        Size in pixels. "auto" is the most common size if both sides have at most 64, otherwise 64 ×
        64.
    channels : "auto", 1 or 3
        Grey or colour; "auto" is grey if none of the inspected images has colour.
    cache : path, False or None
        The folder in which decoded images are kept; by default the one in TWOFOLD_CACHE, or the
        user's ``.cache/twofold``. False keeps them in memory only.

    Attributes
    ----------
    shape_ : tuple of int
        Channels, height and width.
    sizes_ : dict of (height, width) to int
        How often each size occurs among the inspected images.
    """

    def __init__(
        self,
        size: Literal["auto"] | int | tuple[int, int] = "auto",
        channels: Literal["auto"] | int = "auto",
        cache: str | os.PathLike[str] | Literal[False] | None = None,
    ) -> None:
        self.size = size
        self.channels = channels
        self.cache = cache

    def fit(self, X: Any, y: Any = None) -> Self:
        """Inspect some of the images, and decide on size and colour.

        Parameters
        ----------
        X : sequence of paths
            At least one image that can be read.
        y : object
            Ignored, as pipelines pass one.
        """
        del y
        paths = _as_paths(X)
        looked_at = [paths[row] for row in _evenly(len(paths))]
        self.sizes_, is_grey = _look_at(looked_at)
        height, width = self._sides()
        self.shape_ = (self._n_channels(is_grey), height, width)
        return self

    def decode(self, X: Any) -> DecodedImages:
        """Return the images that can be read, and which rows these are.

        Raises
        ------
        ValueError
            If more than 1 % cannot be read, with the first and why.
        """
        check_is_fitted(self, "shape_")
        paths = _as_paths(X)
        images, unreadable = self._decoded(paths)
        _refuse_many_unreadable(paths, unreadable)
        rows = np.setdiff1d(np.arange(len(paths)), np.fromiter(unreadable, dtype=np.int64))
        return DecodedImages(images if not unreadable else images[rows], rows, unreadable)

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return an image a path; what cannot be read is black, and a warning says how many.

        Returns
        -------
        images : ndarray of uint8, shape (n, channels, height, width)
            A memory map if there is a cache. `decode` leaves unreadable images out.
        """
        check_is_fitted(self, "shape_")
        paths = _as_paths(X)
        images, unreadable = self._decoded(paths)
        _refuse_many_unreadable(paths, unreadable)
        if unreadable:
            warn_user(
                _say_unreadable(paths, unreadable) + " They are replaced by black images.",
                ImageWarning,
            )
        return images

    def decode_bytes(self, contents: Sequence[bytes]) -> NDArray[np.uint8]:
        """Return the images that files hold whose bytes are given; all of them must be readable.

        Parameters
        ----------
        contents : sequence of bytes
            At least one file, as a browser or a column of a table brings it.

        Returns
        -------
        images : ndarray of uint8, shape (n, channels, height, width)
        """
        check_is_fitted(self, "shape_")
        frame = Frame(*self.shape_)
        images = np.empty((len(contents), *frame.shape), dtype=np.uint8)
        with bombs_are_errors():
            for row, content in enumerate(contents):
                try:
                    images[row] = decode(BytesIO(content), frame)
                except DAMAGE as error:
                    raise ValueError(
                        f"The image at row {row} cannot be read ({_shown_reason(error)}): send a "
                        "PNG, a JPEG or another common format."
                    ) from error
        return images

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Any]:
        """Return what was fitted, plain enough for JSON; the folder gets no file."""
        del folder
        check_is_fitted(self, "shape_")
        return {"preparation": "images", "version": VERSION, "shape": list(self.shape_)}

    @classmethod
    def open(cls, description: Mapping[str, Any], folder: str | os.PathLike[str]) -> Self:
        """Return a preparation that was saved; whatever is damaged is a sentence."""
        name = f"The preparation in {folder}"
        if not isinstance(description, Mapping):
            raise ValueError(f"{name} is damaged: its description is not a mapping.")
        stored = Stored(name, description, {})
        stored.choice("preparation", ("images",))
        if stored.count("version") != VERSION:
            raise ValueError(
                f"{name} has version {stored.count('version')}, but this Twofold reads {VERSION}: "
                "fit and save it again."
            )
        shape = stored.fact("shape", list)
        if len(shape) != 3 or any(type(side) is not int for side in shape):
            stored.refuse(f"its shape is {str(shape)[:40]}")
        channels, height, width = shape
        if channels not in (1, 3) or not all(0 < n <= LARGEST_SIDE for n in (height, width)):
            stored.refuse(f"its shape is {shape}")
        opened = cls(size=(height, width), channels=channels)
        opened.shape_, opened.sizes_ = (channels, height, width), {}
        return opened

    def _decoded(self, paths: Sequence[Path]) -> tuple[NDArray[np.uint8], dict[int, str]]:
        frame = Frame(*self.shape_)
        if self.cache is False:
            return decode_in_memory(paths, frame)
        return decode_once(paths, frame, cache_folder() if self.cache is None else Path(self.cache))

    def _sides(self) -> tuple[int, int]:
        """Return height and width."""
        if isinstance(self.size, str):
            if self.size != "auto":
                raise ValueError(
                    f"size must be 'auto', a number of pixels, or two of them, got {self.size!r}."
                )
            common = max(self.sizes_, key=lambda size: (self.sizes_[size], size))
            return common if max(common) <= LARGEST_AUTO else (LARGEST_AUTO, LARGEST_AUTO)
        sides = tuple(self.size) if isinstance(self.size, Iterable) else (self.size, self.size)
        if len(sides) != 2:
            raise ValueError(
                f"size must be 'auto', a number of pixels, or two of them, got {self.size!r}."
            )
        height, width = (check_count("size", side) for side in sides)
        if max(height, width) > LARGEST_SIDE:
            raise ValueError(f"size must be at most {LARGEST_SIDE} pixels, got {self.size!r}.")
        return height, width

    def _n_channels(self, is_grey: bool) -> int:
        if self.channels == "auto":
            return 1 if is_grey else 3
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 'auto', 1 or 3, got {self.channels!r}.")
        return int(self.channels)


def _as_paths(X: Any) -> list[Path]:
    if isinstance(X, str | os.PathLike):
        raise TypeError(f"Pass a sequence of image files, got a single path, {str(X)!r}.")
    values = X.to_pylist() if hasattr(X, "to_pylist") else list(X)
    for row, value in enumerate(values):
        if not isinstance(value, str | os.PathLike):
            raise TypeError(f"Image files must be paths, got {value!r} in row {row}.")
    if not values:
        raise ValueError("There are no image files to read.")
    return [Path(value) for value in values]


def _evenly(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))


def _look_at(paths: Sequence[Path]) -> tuple[dict[tuple[int, int], int], bool]:
    """Return how often each height and width occurs, and whether no image has a colour."""
    from PIL import Image

    sizes: Counter[tuple[int, int]] = Counter()
    is_grey = True
    first = ""
    with bombs_are_errors():
        for path in paths:
            try:
                with Image.open(path) as image:
                    sizes[image.height, image.width] += 1
                is_grey = is_grey and _has_no_colour(path)
            except DAMAGE as error:
                first = first or f"{path} ({error})"
    if not sizes:
        raise ValueError(
            f"None of the {len(paths)} image files that were tried can be read: {first}."
        )
    return dict(sizes), is_grey


def _has_no_colour(path: Path) -> bool:
    pixels = decode(path, Frame(3, 16, 16))
    return bool((pixels == pixels[:1]).all())


def _refuse_many_unreadable(paths: Sequence[Path], unreadable: Mapping[int, str]) -> None:
    if len(unreadable) > LARGEST_UNREADABLE * len(paths):
        raise ValueError(
            f"{_say_unreadable(paths, unreadable)} No more than {LARGEST_UNREADABLE:.0%} may be "
            "skipped: repair them, or remove them."
        )


def _shown_reason(error: BaseException) -> str:
    """Return what pillow says, without the object's address."""
    said = reason_of(error)
    return "it is not a picture" if "cannot identify" in said else said


def _say_unreadable(paths: Sequence[Path], unreadable: Mapping[int, str]) -> str:
    row = min(unreadable)
    return (
        f"{len(unreadable)} of {len(paths)} image files cannot be read, first {paths[row]} in row "
        f"{row} ({unreadable[row]})."
    )
