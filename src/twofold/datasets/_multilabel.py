"""MULAN's multi-label sets with features: scene, yeast, corel5k, delicious."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold._core.float32 import as_float32
from twofold._core.numpy_files import read_npz
from twofold._core.reasons import reason_of
from twofold._core.sparse_checks import checked_csr
from twofold.datasets._data_folder import data_folder
from twofold.datasets._places import place_of

MULTILABEL_SETS = ("scene", "yeast", "corel5k", "delicious")


@dataclass(frozen=True, slots=True, eq=False)
class MultilabelSet:
    """One multi-label set.

    Attributes
    ----------
    features : csr_array of float32, shape (n_items, n_features)
        Features of each item.
    labels : ndarray of uint8, shape (n_items, n_labels)
        1 where the item has the label.
    n_train : int
        The first rows are the official train part.
    label_names : tuple of str
        Names of the labels' columns.
    """

    features: Any
    labels: NDArray[np.uint8]
    n_train: int
    label_names: tuple[str, ...]


def load_multilabel(name: str, data_dir: str | os.PathLike[str] | None = None) -> MultilabelSet:
    """Read ``multilabel/<name>.npz`` in `data_dir`, by default the one in TWOFOLD_DATA."""
    check_choice("name", name, MULTILABEL_SETS)
    folder = data_folder(data_dir)
    path = folder / "multilabel" / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not there: {place_of(name, folder)}.")
    stored = read_npz(path)
    try:
        features = checked_csr(
            "X",
            stored["X_data"],
            stored["X_indices"],
            stored["X_indptr"],
            stored["X_shape"],
        )
        n_train, labels = int(stored["n_train"]), _unpacked(stored, features.shape[0])
        if not 0 < n_train < features.shape[0]:
            raise ValueError(f"{n_train} of its {features.shape[0]} items are for training")
        names = tuple(str(label) for label in stored["label_names"])
        return MultilabelSet(as_float32(str(path), features), labels, n_train, names)
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be read ({reason_of(error)}): get it again.") from error


def _unpacked(stored: Mapping[str, NDArray[Any]], n_items: int) -> NDArray[np.uint8]:
    """Return the labels, eight of which stand in a byte."""
    packed, n_labels = stored["Y_packed"], int(stored["n_labels"])
    if packed.shape != (n_items, -(-n_labels // 8)) or packed.dtype != np.uint8:
        raise ValueError(
            f"{n_labels} labels of {n_items} items do not fit into {packed.dtype}{packed.shape}"
        )
    return np.unpackbits(packed, axis=1, count=n_labels)
