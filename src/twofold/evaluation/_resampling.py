"""How much a mean over queries would change with other queries: a percentile bootstrap.

Queries of one class succeed and fail together, so that thousands of them may hold no more evidence
than their few classes. Whole classes are drawn wherever there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.checks import check_choice, check_count

Resample = Literal["auto", "classes", "items"]
Interval = tuple[float, float]
"""The lower and the upper end of a 95 % confidence interval."""

MIN_CLASSES = 5
"""From how many classes on "auto" draws them.

How often a 95 % interval held the truth in 1,000 simulated sets of 200 queries a class, drawing
classes: 52 to 57 % with 2 of them, 75 to 78 % with 3, 82 to 83 % with 5, 87 to 88 % with 8 and 93 %
with 20, whether their shares of hits differ by 0.02 or by 0.1 (standard deviation). Drawing items:
89 to 91 % and 44 to 46 %, whatever the number of classes. Below five neither is to be trusted.
"""
ENDS = (0.025, 0.975)
DRAWN_NUMBERS = 2**22
"""Draws that are held at a time: 32 MiB."""


def check_resampling(resample: Resample, n_resamples: int) -> None:
    """Refuse what is no way to resample; no resamples at all are allowed."""
    check_choice("resample", resample, get_args(Resample))
    check_count("n_resamples", n_resamples, minimum=0)


def resolve_resample(
    resample: Resample, membership: sparse.csr_array
) -> Literal["classes", "items"]:
    """Return what is drawn: what was asked for, or what "auto" comes to."""
    n_classes = np.unique(membership.indices).size
    if resample == "auto":
        return "classes" if n_classes >= MIN_CLASSES else "items"
    if resample == "classes" and n_classes < 2:
        raise ValueError(
            "resample='classes' resamples the classes of the queries, but there is only "
            f"{n_classes}: use resample='items'."
        )
    return resample


def bootstrap_intervals(
    scores: NDArray[np.float64],
    membership: sparse.csr_array,
    resample: Literal["classes", "items"],
    n_resamples: int,
    rng: np.random.Generator,
) -> list[Interval]:
    """Return the 95 % interval of the weighted mean of each column of `scores`.

    A resample draws as many classes, or queries, as there are, with replacement, and takes the mean
    Σ m_u Σ_{q ∈ u} w_qu s_q / Σ m_u Σ_{q ∈ u} w_qu, where unit u was drawn m_u times. The ends are
    the 2.5th and 97.5th percentile of these means. Costs n_resamples · n_units.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_queries, n_scores)
        One score in each column.
    membership : csr_array of float64, shape (n_queries, n_classes)
        w_qu: the weight with which a query belongs to a class; a row's sum is the query's weight.
    resample : {"classes", "items"}
        What is drawn.
    n_resamples : int
        How often.
    rng : Generator
        Draws.
    """
    weights = membership.sum(axis=1)
    if resample == "classes":
        is_drawn = np.unique(membership.indices)
        sums = (membership.T @ scores)[is_drawn]
        sizes = membership.sum(axis=0)[is_drawn]
    else:
        sums, sizes = weights[:, None] * scores, weights
    means = np.concatenate(
        [
            (drawn @ sums) / (drawn @ sizes)[:, None]
            for drawn in draw_counts(len(sizes), n_resamples, rng)
        ]
    )
    low, high = np.quantile(means, ENDS, axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def draw_counts(
    n_units: int, n_resamples: int, rng: np.random.Generator, width: int = 0
) -> Iterator[NDArray[np.float64]]:
    """Yield how often each unit is drawn, shape (some, n_units), a few resamples at a time.

    `width` is that of what is made of a resample, where it is wider than the units.
    """
    n_rows = max(1, DRAWN_NUMBERS // max(n_units, width))
    for first in range(0, n_resamples, n_rows):
        some = min(n_rows, n_resamples - first)
        cells = rng.integers(n_units, size=(some, n_units)) + n_units * np.arange(some)[:, None]
        counts = np.bincount(cells.ravel(), minlength=some * n_units)
        yield counts.reshape(some, n_units).astype(np.float64)
