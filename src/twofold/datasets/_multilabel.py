"""MULAN's multi-label sets with features: scene, yeast, corel5k, delicious."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.checks import check_choice
from twofold.datasets._data_folder import data_folder
from twofold.datasets._places import place_of

MULTILABEL_SETS = ("scene", "yeast", "corel5k", "delicious")


@dataclass(frozen=True, slots=True, eq=False)
class MultilabelSet:
    """One multi-label set.

    Attributes
    ----------
    features : csr_array of float32, shape (n_items, n_features)
        What is known of each item.
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
    """Read ``multilabel/<name>.npz`` in `data_dir`, by default what TWOFOLD_DATA names."""
    check_choice("name", name, MULTILABEL_SETS)
    folder = data_folder(data_dir)
    path = folder / "multilabel" / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not there: {place_of(name, folder)}.")
    try:
        # Opened here, because np.load leaves a damaged file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            shape = tuple(int(size) for size in stored["X_shape"])
            n_labels = int(stored["n_labels"])
            features = sparse.csr_array(
                (stored["X_data"], stored["X_indices"], stored["X_indptr"]), shape=shape
            )
            return MultilabelSet(
                features=features.astype(np.float32),
                labels=np.unpackbits(stored["Y_packed"], axis=1, count=n_labels),
                n_train=int(stored["n_train"]),
                label_names=tuple(str(label) for label in stored["label_names"]),
            )
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read ({error}): get it again.") from error
