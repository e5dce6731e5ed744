"""What every loader of images returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Part = Literal["train", "test"]


@dataclass(frozen=True, slots=True, eq=False)
class ImageSet:
    """Images with one class each.

    Attributes
    ----------
    images : ndarray of uint8, shape (n_items, n_channels, height, width)
        Brightness from 0 to 255.
    classes : ndarray of int64, shape (n_items,)
        Positions in `class_names`.
    class_names : tuple of str
        Names of the classes.
    """

    images: NDArray[np.uint8]
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledImages:
    """Images with any number of labels each.

    Attributes
    ----------
    images : memmap of uint8, shape (n_items, n_channels, height, width)
        Brightness from 0 to 255. It lies in a file and is read as it is used; what is written to
        it stays in memory and never reaches the file.
    labels : ndarray of uint8, shape (n_items, n_labels)
        1 where the image has the label.
    label_names : tuple of str
        Names of the labels' columns.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    label_names: tuple[str, ...]
