"""Which of a gallery's items are relevant to a query: those of its class, or that share a label."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.classes import is_matrix
from twofold.evaluation._labels import check_same_labels, encode_classes, encode_indicator

SHARED_NUMBERS = 2**23
"""Entries of the relation between label vectors that are held at a time, at most: 64 MiB."""


class Relevance(Protocol):
    """What is relevant to what, never written down as a whole."""

    n_queries: int
    n_gallery: int

    def count(self) -> NDArray[np.int64]:
        """Return the number of relevant items of the gallery, shape (n_queries,)."""

    def mark(self, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        """Set the last bit of ``keys[i, g]`` where g is relevant to query ``rows[i]``."""

    def membership(self) -> sparse.csr_array:
        """Return how much of each query belongs to each class, shape (n_queries, n_classes).

        Each row sums to 1: a query with several labels belongs to each of them in equal parts. The
        row of a query without a label is empty.
        """


class ClassRelevance:
    """Relevant is what has the query's class.

    Parameters
    ----------
    queries, gallery : ndarray of int64, shape (n_queries,) and (n_gallery,)
        Classes as numbers 0, 1, …
    """

    def __init__(self, queries: NDArray[np.int64], gallery: NDArray[np.int64]) -> None:
        self.queries, self.gallery = queries, gallery
        self.n_queries, self.n_gallery = len(queries), len(gallery)

    def count(self) -> NDArray[np.int64]:
        """Return the number of relevant items, shape (n_queries,)."""
        sizes = np.bincount(self.gallery, minlength=int(self.queries.max(initial=0)) + 1)
        return np.asarray(sizes[self.queries])

    def mark(self, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        """Set the last bit of the relevant keys."""
        keys |= self.queries[rows, None] == self.gallery

    def membership(self) -> sparse.csr_array:
        """Return 1 at each query's class, shape (n_queries, n_classes)."""
        return class_membership(self.queries, np.ones(self.n_queries))


class LabelRelevance:
    """Relevant is what has at least one label in common with the query.

    Parameters
    ----------
    queries, gallery : csr_array of float32, shape (n_queries, n_labels) and (n_gallery, n_labels)
        Ones at the items' labels.
    """

    def __init__(self, queries: sparse.csr_array, gallery: sparse.csr_array) -> None:
        self.queries, self.by_label = queries, gallery.T.tocsr()
        self.n_queries, self.n_gallery = queries.shape[0], gallery.shape[0]

    def count(self) -> NDArray[np.int64]:
        """Return the number of relevant items, shape (n_queries,)."""
        size = max(1, SHARED_NUMBERS // self.n_gallery)
        counts = [
            np.diff((self.queries[first : first + size] @ self.by_label).indptr)
            for first in range(0, self.n_queries, size)
        ]
        return np.concatenate(counts).astype(np.int64)

    def mark(self, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        """Set the last bit of the relevant keys."""
        shared = self.queries[rows] @ self.by_label
        row_of = np.repeat(np.arange(len(rows)), np.diff(shared.indptr))
        keys[row_of, shared.indices] |= 1

    def membership(self) -> sparse.csr_array:
        """Return 1/l at each of a query's l labels, shape (n_queries, n_labels)."""
        n_labels = np.diff(self.queries.indptr)
        shares = np.repeat(1 / np.maximum(n_labels, 1), n_labels)
        return sparse.csr_array(
            (shares, self.queries.indices, self.queries.indptr), shape=self.queries.shape
        )


def class_membership(classes: NDArray[np.int64], weights: NDArray[np.float64]) -> sparse.csr_array:
    """Return `weights` at each item's class, shape (n_items, n_classes)."""
    shape = (len(classes), int(classes.max(initial=-1)) + 1)
    return sparse.csr_array((weights, classes, np.arange(len(classes) + 1)), shape=shape)


def relate(name: str, labels: Any, gallery_name: str, gallery_labels: Any) -> Relevance:
    """Return what is relevant, from the labels of both sides, which may be the same object."""
    if is_matrix(labels) != is_matrix(gallery_labels):
        one, other = (name, gallery_name) if is_matrix(labels) else (gallery_name, name)
        raise TypeError(
            f"{one} is a matrix but {other} is not: give both as classes, or both as 0/1 matrices."
        )
    if is_matrix(labels):
        rows = encode_indicator(name, labels)
        if gallery_labels is labels:
            return LabelRelevance(rows, rows)
        columns = encode_indicator(gallery_name, gallery_labels)
        check_same_labels(**{name: rows, gallery_name: columns})
        return LabelRelevance(rows, columns)
    if gallery_labels is labels:
        (codes,) = encode_classes(**{name: labels})
        return ClassRelevance(codes, codes)
    return ClassRelevance(*encode_classes(**{name: labels, gallery_name: gallery_labels}))
