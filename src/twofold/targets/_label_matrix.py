"""The weighted relation of distinct label vectors, as a symmetric matrix to multiply by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.targets._leading_eigenpairs import DENSE_SIZE

MAX_CACHED_BYTES = 2**30
"""A relation up to this size is kept between products, a larger one is made again for each."""
BLOCK_BYTES = 2**26
SPARSE_SHARE = 1 / 8
"""A relation with at most this share of its entries is kept sparse. 12,000 label vectors, seven
products with 32 columns, one core, sparse against dense: 4.3 s and 3.3 s at a share of 1/4, 2.3 and
3.5 at 1/8, 0.5 and 3.3 at 1/37; where blocks are kept 1.8 and 1.5, 0.9 and 1.4, 0.2 and 1.8."""
Block = Any
"""An ndarray or csr_array of float32."""


class LabelMatrix:
    """diag(w) R diag(w), with R the grades between label vectors and w the roots of their counts.

    R is made in blocks of rows, so that beside the products no more than 1 GiB is held, however
    many label vectors there are. Where few of them overlap the blocks are sparse.

    Parameters
    ----------
    indicator : csr_array of float32, shape (n, n_labels)
        Distinct label vectors, none of them empty.
    counts : ndarray of float64, shape (n,)
        How many items have each.
    grade : {"overlap", "jaccard"}
        As for `LabelRelation`.
    """

    def __init__(
        self,
        indicator: sparse.csr_array,
        counts: NDArray[np.float64],
        grade: Literal["overlap", "jaccard"],
    ) -> None:
        self._roots = np.sqrt(counts).astype(np.float32)[:, None]
        self._grade = grade
        self._sizes = np.asarray(indicator.sum(axis=1), dtype=np.float32)
        self._labels: Block = indicator
        self._n_entries = product_work(indicator)
        self._is_sparse = self._n_entries <= SPARSE_SHARE * self.n**2
        if not self._is_sparse and _dense_is_cheaper(indicator):
            self._labels = indicator.toarray()
        self._transposed = self._labels.T
        self._cached: list[Block] | None = None
        if self._n_bytes <= MAX_CACHED_BYTES:
            self._cached = list(self._make_blocks())

    device = "cpu"

    @property
    def n(self) -> int:
        """Number of rows and of columns."""
        return len(self._roots)

    def block(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return columns as what it multiplies: as they are."""
        return columns

    def __matmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (n, m), in O(n² m), or O(entries · m) where sparse."""
        weighted = self._roots * other
        product = np.concatenate([block @ weighted for block in self._blocks()])
        product *= self._roots
        return product

    def extend(
        self, indicator: sparse.csr_array, weights: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return R' weights, R' the grades of other label vectors with these, shape (n', m)."""
        factors = weights.astype(np.float32)
        sizes = np.asarray(indicator.sum(axis=1), dtype=np.float32)
        is_dense = not sparse.issparse(self._labels)
        parts = []
        for rows in self._parts(indicator.shape[0]):
            labels = indicator[rows].toarray() if is_dense else indicator[rows]
            parts.append(self._graded(labels @ self._transposed, sizes[rows]) @ factors)
        return np.concatenate(parts)

    def sum_of_squares(self) -> float:
        """Return the sum of the squares of all entries."""
        counts = self._roots[:, 0].astype(np.float64) ** 2
        rows = [_squared(block) @ counts.astype(np.float32) for block in self._blocks()]
        return float(np.concatenate(rows).astype(np.float64) @ counts)

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix, for small ones."""
        blocks = [one.toarray() if sparse.issparse(one) else one for one in self._blocks()]
        whole: NDArray[np.float64] = np.concatenate(blocks).astype(np.float64)
        return self._roots * whole * self._roots.T

    @property
    def _n_bytes(self) -> float:
        return 8 * self._n_entries if self._is_sparse else 4.0 * self.n**2

    def _blocks(self) -> Iterator[Block]:
        return iter(self._cached) if self._cached is not None else self._make_blocks()

    def _make_blocks(self) -> Iterator[Block]:
        """Make R, some rows at a time."""
        for rows in self._parts(self.n):
            yield self._graded(self._labels[rows] @ self._transposed, self._sizes[rows])

    def _parts(self, n_rows: int) -> Iterator[slice]:
        """Return the rows of blocks of about `BLOCK_BYTES`."""
        size = max(1, int(BLOCK_BYTES * self.n // max(1.0, self._n_bytes)))
        return (slice(first, first + size) for first in range(0, n_rows, size))

    def _graded(self, shared: Block, sizes: NDArray[np.float32]) -> Block:
        """Turn numbers of shared labels into grades, in place; `sizes` are the rows' labels."""
        if not self._is_sparse and sparse.issparse(shared):
            shared = shared.toarray()
        values = shared.data if sparse.issparse(shared) else shared
        if self._grade == "overlap":
            np.minimum(values, 1, out=values)
        elif sparse.issparse(shared):
            of_rows = np.repeat(sizes, np.diff(shared.indptr))
            values /= of_rows + self._sizes[shared.indices] - values
        else:
            values /= sizes[:, None] + self._sizes[None] - values
        return shared


def matrix_on(
    device: str,
    indicator: sparse.csr_array,
    counts: NDArray[np.float64],
    grade: Literal["overlap", "jaccard"],
) -> Any:
    """Return the matrix on a device: a GPU's if it is to be there and has room, else the CPU's."""
    if device != "cpu" and indicator.shape[0] > DENSE_SIZE:
        # Imported where it is used: torch takes a second to load.
        from twofold.targets._label_matrix_torch import TorchLabelMatrix

        if TorchLabelMatrix.fits(indicator.shape[0], device):
            return TorchLabelMatrix(indicator, counts, grade, device)
    return LabelMatrix(indicator, counts, grade)


def product_work(indicator: sparse.csr_array) -> float:
    """Return how many entries the relation of label vectors has at most: n², or less if sparse."""
    label_counts = np.bincount(indicator.indices).astype(np.float64)
    return min(float(indicator.shape[0]) ** 2, float((label_counts**2).sum()))


def _squared(block: Block) -> Block:
    return block.power(2) if sparse.issparse(block) else np.square(block)


def _dense_is_cheaper(indicator: sparse.csr_array) -> bool:
    """Whether R is made faster by a dense product, whose steps are some 100 times cheaper."""
    n, n_labels = indicator.shape
    label_counts = np.bincount(indicator.indices, minlength=n_labels).astype(np.float64)
    return bool(n**2 * n_labels < 100 * (label_counts**2).sum())
