"""Statements and items that arrive later, put together with those that were there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from torch.utils.data import ConcatDataset, Dataset

from twofold.relations import PairRelation, TripletRelation

Stated = PairRelation | TripletRelation


def append_rows(X: Any, X_new: Any) -> Any:
    """Return the rows of both, of the kind that `X` is."""
    if isinstance(X, Dataset):
        return ConcatDataset([X, X_new])
    if sparse.issparse(X):
        return sparse.vstack([X, X_new], format="csr")
    if hasattr(X, "iloc"):
        from pandas import concat  # there, since X is of it

        return concat([X, X_new])
    return np.concatenate([X, X_new])


def merge_statements(
    known: Stated, new: Stated | None, withdrawn: ArrayLike | None, n_items: int
) -> Stated:
    """Return what is known after some statements came and others were taken back.

    Parameters
    ----------
    known, new : PairRelation or TripletRelation, of one kind
        What was stated before, and what is stated now.
    withdrawn : array_like of int, shape (n, 2) or (n, 3), optional
        Pairs, or triplets, whose statements are taken back; of a pair either order will do.
    n_items : int
        Rows there are now.
    """
    if new is not None:
        if type(new) is not type(known):
            raise TypeError(
                f"relation must be a {type(known).__name__}, as it was in fit, got "
                f"{type(new).__name__}."
            )
        if new.n_items > n_items:
            raise ValueError(
                f"The relation is about {new.n_items} items, but there are {n_items} rows: those "
                "of fit and those of X_new."
            )
    if withdrawn is not None:
        known = known.without(withdrawn)
    if new is None:
        return known.over(n_items)
    return known.merge(new).over(n_items)  # type: ignore[arg-type]


def check_same_kind(X: Any, X_new: Any) -> None:
    """Refuse new items of another kind."""
    if isinstance(X, Dataset) != isinstance(X_new, Dataset):
        raise TypeError(
            f"X_new must be of the kind that X was in fit, got {type(X_new).__name__} for "
            f"{type(X).__name__}."
        )
