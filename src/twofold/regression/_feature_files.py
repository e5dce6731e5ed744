"""Features on disk: numbers in one file, dense or sparse; reading it runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from torch.utils.data import Dataset

from twofold._core.numpy_files import as_sparse, read_npy, read_npz

DENSE, SPARSE = "features.npy", "features.npz"


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


def as_table(X: NDArray[Any], names: Sequence[str]) -> Any:
    """Return features with the columns of the table that they were."""
    from pandas import DataFrame  # there, since they were one

    return DataFrame(X, columns=names)


def _as_array(X: Any) -> NDArray[Any]:
    if isinstance(X, Dataset):
        raise TypeError(
            "with_data=True saves arrays; this model was fitted to a torch Dataset, which stays "
            "where it is. Save without it, and fit again to go on."
        )
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            "with_data=True saves numbers; this model was fitted to columns of other types "
            f"({array.dtype}). Save without it, and fit again to go on."
        )
    return array
