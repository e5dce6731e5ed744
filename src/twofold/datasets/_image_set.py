"""What every loader of images returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        What the classes are called.
    """

    images: NDArray[np.uint8]
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]
