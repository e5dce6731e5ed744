"""Scores as means of ranks, so that their errors, and those of differences, are known (DeLong)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ranks = list[NDArray[np.float64]]
"""One array a kind of statement."""


def pair_ranks(alike: NDArray[np.bool_], similarity: NDArray[np.float32]) -> Ranks:
    """Return, for alike pairs and for others, the share of the other kind each is right against.

    The mean of either is the AUROC; ties count one half.

    Parameters
    ----------
    alike : ndarray of bool, shape (n_pairs,)
        What is stated.
    similarity : ndarray of float32, shape (n_pairs,)
        Large for the alike.
    """
    near, far = similarity[alike], similarity[~alike]
    return [_share_below(near, far), _share_below(-far, -near)]


def triplet_ranks(near: NDArray[np.float32], far: NDArray[np.float32]) -> Ranks:
    """Return 1 for triplets in order, 0 for others and one half for ties.

    Parameters
    ----------
    near, far : ndarray of float32, shape (n_triplets,)
        Similarities of the anchor to the positive and to the negative.
    """
    return [(near > far) + 0.5 * (near == far)]


def rank_error(ranks: Sequence[NDArray[np.float64]]) -> float:
    """Return the standard error of the mean rank."""
    return math.sqrt(sum(float(kind.var()) / max(1, kind.size - 1) for kind in ranks))


def gain_error(before: Ranks, after: Ranks) -> float:
    """Return the standard error of how much one mean rank is above another.

    Both are of the same statements, so that most of the chance is common to both.
    """
    return rank_error([now - then for now, then in zip(after, before, strict=True)])


def _share_below(values: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return below / (2 * max(1, ordered.size))
