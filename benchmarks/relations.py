"""The relations that the benchmarks run on."""

from __future__ import annotations

import os
import warnings

import numpy as np

from twofold import LabelRelation, RelationWarning
from twofold.datasets import load_nus_wide_labels

# MNIST's and CIFAR-10's train parts, and PubFig83's 10,518 aligned train images, by class.
MNIST = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
CIFAR10 = (5000,) * 10
PUBFIG83 = (
    68, 63, 174, 131, 61, 259, 228, 77, 86, 260, 206, 120, 155, 103, 82, 94, 105, 72, 128, 128, 206,
    147, 109, 160, 112, 60, 90, 95, 75, 187, 62, 213, 70, 110, 117, 128, 61, 190, 89, 67, 135, 260,
    68, 92, 92, 92, 113, 94, 217, 155, 95, 159, 314, 62, 68, 114, 170, 106, 62, 79, 327, 68, 145,
    148, 220, 117, 93, 103, 60, 88, 233, 112, 161, 166, 81, 84, 126, 157, 127, 94, 72, 88, 153,
)  # fmt: skip


def classes_of_sizes(sizes: tuple[int, ...], seed: int = 0) -> LabelRelation:
    """Classes of the given sizes, in random order."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return LabelRelation(np.random.default_rng(seed).permutation(codes))


def nus_wide() -> LabelRelation:
    """NUS-WIDE's real train labels, rows without a label among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return LabelRelation(load_nus_wide_labels("train").labels)


def why_no_data() -> str | None:
    """Say why the real data sets cannot be used, None if they can."""
    if not os.environ.get("TWOFOLD_DATA"):
        return "TWOFOLD_DATA does not name the folder of the data sets"
    return None
