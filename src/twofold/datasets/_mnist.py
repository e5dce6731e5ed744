"""MNIST: 70,000 handwritten digits of 28×28 pixels, from the four official idx files."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold._core.limits import refuse_bomb, unpacked_limit
from twofold.datasets._archives import CHUNK_BYTES, OFFICIAL, open_gzip
from twofold.datasets._data_folder import data_folder
from twofold.datasets._image_set import ImageSet, Part
from twofold.datasets._places import download_hint

PREFIX = {"train": "train", "test": "t10k"}
DIGITS = tuple("0123456789")
BYTES = b"\0\0\x08"
"""An idx file begins with these three if it holds bytes; the fourth is its number of dimensions."""


def load_mnist(part: Part = "train", data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Read MNIST's official train or test part.

    Parameters
    ----------
    part : {"train", "test"}
        60,000 or 10,000 images of one channel.
    data_dir : path, optional
        A folder with ``mnist/`` in it, which holds ``train-images-idx3-ubyte``,
        ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte``, each
        as it is or with ``.gz``; by default the one in the variable TWOFOLD_DATA.
    """
    check_choice("part", part, get_args(Part))
    folder = data_folder(data_dir) / "mnist"
    images_path = _find(folder, f"{PREFIX[part]}-images-idx3-ubyte")
    labels_path = _find(folder, f"{PREFIX[part]}-labels-idx1-ubyte")
    images = _read_idx(images_path, n_dims=3)
    labels = _read_idx(labels_path, n_dims=1)
    if len(images) != len(labels):
        raise ValueError(
            f"{images_path} holds {len(images)} images but {labels_path.name} beside it "
            f"{len(labels)} labels: they do not belong to the same set, get both again."
        )
    wrong = np.flatnonzero(labels >= len(DIGITS))
    if wrong.size:
        raise ValueError(
            f"{labels_path} holds {wrong.size} label(s) that are not digits, first at item "
            f"{wrong[0]} ({labels[wrong[0]]}): get it again."
        )
    return ImageSet(images[:, None], labels.astype(np.int64), DIGITS)


def _find(folder: Path, name: str) -> Path:
    """Return the path of a file, unpacked or not."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"MNIST is not complete: put {name}.gz into {folder}, or unpacked as {name}; or "
        f"{download_hint('mnist', folder.parent)}."
    )


def _read_idx(path: Path, n_dims: int) -> NDArray[np.uint8]:
    """Return the bytes of an idx file in their shape.

    The file is: two zero bytes, the type (8: unsigned bytes), the number of dimensions, each
    dimension as four bytes, largest first, and the values.
    """
    opened = open_gzip(path) if path.suffix == ".gz" else path.open("rb")
    with opened as file:
        head = file.read(4 + 4 * n_dims)
        if head[:4] != BYTES + bytes([n_dims]) or len(head) < 4 + 4 * n_dims:
            raise ValueError(
                f"{path} is not an idx file of bytes in {n_dims} dimension(s), it begins with "
                f"0x{head[:4].hex()}: put the official file there."
            )
        shape = tuple(int(size) for size in np.frombuffer(head[4:], dtype=">u4"))
        n_bytes = math.prod(shape)
        if path.suffix == ".gz":
            refuse_bomb(path, n_bytes, OFFICIAL)
        content = bytearray(file.read(min(n_bytes, unpacked_limit(path))))
        n_beyond = len(file.read(CHUNK_BYTES))  # none, and the checksum is compared
    if len(content) + n_beyond != n_bytes:
        more = "" if n_beyond < CHUNK_BYTES else " or more"
        raise ValueError(
            f"{path} is damaged, it declares {' × '.join(map(str, shape))} bytes but holds "
            f"{len(content) + n_beyond}{more}: get it again."
        )
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)
