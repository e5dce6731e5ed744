"""Sparse matrices as they come from files and callers: no index of theirs is trusted.

Compiled code follows the indices of a sparse matrix without looking: one that is out of range reads
and writes memory that is not the matrix's. So they are compared with the shape first, in O(nnz).
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.limits import refuse_beyond_memory

MOST_COLUMNS = 2**27
"""Of a file: one row of so many features takes half a gigabyte when it is compared."""
ROW_BYTES = 48
"""Of memory for a row, even one without an entry."""
_WAY_OUT = "Rebuild it with scipy.sparse, from its rows, columns and values."


def check_sparse(name: str, matrix: Any) -> Any:
    """Return a sparse matrix whose indices all lie within its shape; CSR, CSC, BSR or COO.

    Other formats come back as COO. Nothing of the caller's is changed.
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a two-dimensional sparse matrix, got {matrix.shape}.")
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(name, matrix)
        return matrix
    if matrix.format != "coo":
        matrix = matrix.tocoo()  # reads lists, dictionaries or diagonals: no index is followed
    _check_coordinates(name, matrix)
    return matrix


def check_sides(name: str, shape: Any) -> tuple[int, int]:
    """Return numbers of rows and columns from a file, if they are no more than memory can have."""
    if len(shape) != 2 or any(isinstance(size, float) for size in shape) or min(shape) < 0:
        _refuse(name, f"its shape is {tuple(shape)}")
    n_rows, n_columns = (int(size) for size in shape)
    if n_columns > MOST_COLUMNS:
        _refuse(name, f"it has {n_columns:,} columns, and {MOST_COLUMNS:,} are the most")
    refuse_beyond_memory(
        f"{name}: its {n_rows} rows", ROW_BYTES * n_rows, "Leave out the empty ones."
    )
    return n_rows, n_columns


def checked_csr(name: str, values: Any, indices: Any, indptr: Any, shape: Any) -> sparse.csr_array:
    """Return the CSR matrix of three arrays and a shape that were read from a file."""
    shape = check_sides(name, shape)
    arrays = (values, indices, indptr)
    if any(array.ndim != 1 for array in arrays):
        _refuse(name, f"its arrays have shapes {', '.join(str(array.shape) for array in arrays)}")
    _check_pointers(name, indptr, len(indices), int(shape[0]))
    _check_values(name, values, len(indices))
    _check_indices(name, "column", indices, int(shape[1]))
    return sparse.csr_array((values, indices, indptr), shape=shape)


def _check_compressed(name: str, matrix: Any) -> None:
    rows, columns = ("row", "column") if matrix.format != "csc" else ("column", "row")
    n_rows, n_columns = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        if height < 1 or width < 1 or n_rows % height or n_columns % width:
            _refuse(name, f"its blocks of {height} × {width} do not fill {matrix.shape}")
        n_rows, n_columns = n_rows // height, n_columns // width
        rows, columns = f"block {rows}", f"block {columns}"
    _check_pointers(name, np.asarray(matrix.indptr), len(matrix.indices), n_rows, rows)
    _check_values(name, matrix.data, len(matrix.indices))
    _check_indices(name, columns, np.asarray(matrix.indices), n_columns)


def _check_coordinates(name: str, matrix: Any) -> None:
    for axis, indices, size in zip(
        ("row", "column"), (matrix.row, matrix.col), matrix.shape, strict=True
    ):
        _check_values(name, matrix.data, len(indices))
        _check_indices(name, axis, np.asarray(indices), size)


def _check_pointers(
    name: str, indptr: NDArray[Any], n_indices: int, n_rows: int, axis: str = "row"
) -> None:
    """Refuse pointers that are not one more than the rows, or do not rise from 0 to the last."""
    if indptr.dtype.kind not in "iu" or indptr.ndim != 1 or len(indptr) != n_rows + 1:
        _refuse(name, f"indptr must be {n_rows + 1} integers, got {indptr.dtype}{indptr.shape}")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or falls.size:
        _refuse(name, f"indptr must rise from 0, first wrong at {axis} {_first(falls)}")
    if indptr[-1] > n_indices:
        _refuse(name, f"indptr ends at {indptr[-1]}, but there are {n_indices} indices")


def _check_values(name: str, values: NDArray[Any], n_indices: int) -> None:
    if len(values) != n_indices:
        _refuse(name, f"it has {len(values)} values for {n_indices} indices")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {values.dtype}.")


def _check_indices(name: str, axis: str, indices: NDArray[Any], size: int) -> None:
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        _refuse(name, f"its indices must be integers, got {indices.dtype}{indices.shape}")
    # Two passes that make no array: the usual case is that all is well.
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        wrong = np.flatnonzero((indices < 0) | (indices >= size))
        _refuse(
            name,
            f"{wrong.size} of its {axis} indices are outside 0 .. {size - 1}, first entry "
            f"{wrong[0]} ({indices[wrong[0]]})",
        )


def _first(wrong: NDArray[np.int64]) -> int:
    return int(wrong[0]) if wrong.size else 0


def _refuse(name: str, why: str) -> NoReturn:
    raise ValueError(f"{name} is a damaged sparse matrix: {why}. {_WAY_OUT}")
