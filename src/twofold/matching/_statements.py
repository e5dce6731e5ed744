"""Statements about pairs of rows, checked once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_item_ids
from twofold.matching._pair_features import PreparedTables


def check_rows(pairs: ArrayLike, tables: PreparedTables) -> NDArray[np.int64]:
    """Return pairs of rows that are there, shape (n_pairs, 2)."""
    table = as_array("pairs", pairs)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"pairs must have shape (n_pairs, 2), got {table.shape}.")
    left = check_item_ids("pairs[:, 0]", table[:, 0], len(tables.left_record))
    right = check_item_ids("pairs[:, 1]", table[:, 1], len(tables.right_record))
    return np.column_stack([left, right])


def check_statements(
    pairs: ArrayLike, y: ArrayLike, tables: PreparedTables
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of rows, and 1 for the alike and 0 for the others, both of which there are."""
    rows = check_rows(pairs, tables)
    labels = as_array("y", y)
    if labels.shape != (len(rows),):
        raise ValueError(
            f"y must have one label for each of {len(rows)} pairs, got shape {labels.shape}."
        )
    wrong = np.flatnonzero(~np.isin(labels, (0, 1)))
    if wrong.size:
        raise ValueError(
            f"y has {wrong.size} label(s) that are neither 0 (not alike) nor 1 (alike), first at "
            f"row {wrong[0]}: {labels[wrong[0]]!r}."
        )
    alike = labels.astype(np.int64)
    if len(np.unique(alike)) < 2:
        raise ValueError(
            f"All {len(alike)} pair(s) are of the same kind: both alike pairs and others are "
            "needed."
        )
    return rows, alike


def check_given(
    similarity: ArrayLike | None, n_pairs: int, n_given: int | None = None
) -> NDArray[np.float32]:
    """Return similarities that were given as columns, as many as there were in `fit`."""
    values = np.empty((n_pairs, 0)) if similarity is None else as_array("similarity", similarity)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n_pairs:
        raise ValueError(f"similarity must have {n_pairs} rows, one per pair, got {values.shape}.")
    if n_given is not None and values.shape[1] != n_given:
        raise ValueError(
            f"similarity has {values.shape[1]} column(s), but the model was fitted with "
            f"{n_given}: give the same."
        )
    return values.astype(np.float32)
