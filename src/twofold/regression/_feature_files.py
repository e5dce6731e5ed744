"""Features on disk: numbers in one file, dense or sparse; reading it runs nothing."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from torch.utils.data import Dataset

from twofold._core.numpy_files import as_sparse, read_npy, read_npz

DENSE, SPARSE = "features.npy", "features.npz"
DATA_ERRORS = (
    OSError, EOFError, ValueError, TypeError, LookupError, NotImplementedError,
    BadZipFile, zlib.error,
)  # fmt: skip
"""What NumPy, SciPy and our own types say of files that hold something else."""


def save_features(X: Any, folder: Path) -> None:
    """Write features into a folder, or say why they cannot be saved."""
    if sparse.issparse(X):
        sparse.save_npz(folder / SPARSE, sparse.csr_array(X))
    else:
        np.save(folder / DENSE, _as_array(X), allow_pickle=False)


def load_features(folder: Path) -> Any:
    """Read what `save_features` wrote."""
    if (folder / SPARSE).exists():
        return as_sparse(folder / SPARSE, read_npz(folder / SPARSE))
    return read_npy(folder / DENSE)


def refuse_other_rows(
    X: Any, n_features: int | None, n_items: int, targets: NDArray[np.float32]
) -> None:
    """Refuse features, statements and targets that are not of the same items."""
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"there are {X.shape[1]} features, not {n_features}")
    if targets.ndim != 2 or targets.dtype != np.float32 or np.isinf(targets).any():
        raise ValueError("targets are not finite numbers with a row for each item")
    if not X.shape[0] == len(targets) == n_items:
        raise ValueError(
            f"there are {X.shape[0]} rows of features, {len(targets)} of targets, and statements "
            f"about {n_items} items"
        )
    numbers = X.data if sparse.issparse(X) else X
    if numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
        raise ValueError("features are not finite numbers")


def as_table(X: NDArray[Any], names: Sequence[str]) -> Any:
    """Return features with the columns of the table that they were."""
    from pandas import DataFrame  # there, since they were one

    return DataFrame(X, columns=names)


def _as_array(X: Any) -> NDArray[Any]:
    if isinstance(X, Dataset):
        raise TypeError(
            "with_data=True saves arrays, but this model was fitted to a torch Dataset. Save "
            "without it, and fit again to continue."
        )
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            "with_data=True saves numbers, but this model was fitted to columns of other types "
            f"({array.dtype}). Save without it, and fit again to continue."
        )
    return array
