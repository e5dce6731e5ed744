"""A user's own features: NumPy, CSV or Parquet, a row per item, and what the rows are called."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.float32 import as_float32
from twofold._core.numpy_files import SPARSE_FORMAT, as_sparse, read_npy, read_npz
from twofold.datasets._columns import (
    Columns,
    existing_file,
    is_text_type,
    read_columns,
    unique_ids,
)
from twofold.datasets._table_files import TABLE_SUFFIXES

KEY = "id"
"""The column that names the rows, if there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """Features of every item.

    Attributes
    ----------
    features : ndarray or csr_array of float32, shape (n_items, n_features)
        Features of each item.
    keys : ndarray of int64 or of str objects, shape (n_items,)
        Id of each row; 0 .. n_items - 1 if the file has none.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    """

    features: Any
    keys: NDArray[Any]
    notes: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return self.keys.size


def load_table(path: str | os.PathLike[str], key: str | None = None) -> FeatureTable:
    """Read features, one row per item.

    Parameters
    ----------
    path : path
        .npy with one matrix; .npz with one matrix, or a sparse one as written by
        scipy.sparse.save_npz; .csv, .tsv, .parquet or .pq, whose columns are numbers except for the
        key.
    key : str, optional
        The column with the rows' keys. By default the one named "id", or else the first if it has
        text; without either, the keys are row numbers.
    """
    file = existing_file(path, (".npy", ".npz", *TABLE_SUFFIXES))
    if file.suffix.lower() in (".npy", ".npz"):
        if key is not None:
            raise ValueError(f"key={key!r} names a column, but {file} has none.")
        features = read_matrix(file)
        return FeatureTable(features, np.arange(features.shape[0]))
    columns = read_columns(file, text=(key or KEY,))
    named = _key_column(columns, key)
    kept = [name for name in columns.names if name != named]
    if not kept:
        raise ValueError(f"{file} has no column of features besides {named!r}.")
    keys = np.arange(columns.table.num_rows) if named is None else unique_ids(columns, named)
    features = np.empty((columns.table.num_rows, len(kept)), dtype=np.float32)
    for number, name in enumerate(kept):
        numbers = columns.numbers(name)
        features[:, number] = as_float32(f"The column {name!r} of {file}", numbers)
    return FeatureTable(features, keys, columns.notes)


def read_matrix(file: Path) -> Any:
    """Return the matrix of a .npy or .npz file as float32, dense or CSR."""
    return _checked(file, _read_array(file))


def _read_array(file: Path) -> Any:
    """Return the matrix in a NumPy file; pickled objects are never loaded."""
    if file.suffix.lower() == ".npy":
        return read_npy(file)
    arrays = read_npz(file)
    if SPARSE_FORMAT in arrays:
        return as_sparse(file, arrays)
    if len(arrays) != 1:
        raise ValueError(
            f"{file} holds {len(arrays)} arrays ({', '.join(list(arrays)[:5])}): save only the "
            "features, with np.save or scipy.sparse.save_npz."
        )
    return next(iter(arrays.values()))


def _checked(file: Path, features: Any) -> Any:
    """Return a matrix of finite numbers as float32."""
    if features.ndim != 2 or 0 in features.shape:
        raise ValueError(f"{file} must hold (n_items, n_features) numbers, got {features.shape}.")
    if features.dtype.kind not in "biuf":
        raise ValueError(f"{file} must hold numbers, got {features.dtype}.")
    return as_float32(str(file), features)


def _key_column(columns: Columns, key: str | None) -> str | None:
    """Return the column that names the rows, None if there is none."""
    if key is not None:
        columns.require([key])
        return key
    if KEY in columns.names:
        return KEY
    return columns.names[0] if is_text_type(columns.table[0].type) else None
