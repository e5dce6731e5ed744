"""How often one example per class is enough to classify a new item.

An episode has one support item of each of `n_way` classes and one query, another item of one of
these; it is right if the query's own class lies nearest. Episodes are drawn, or their expectation
is computed over all there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice, check_count
from twofold._core.classes import is_matrix
from twofold._core.random import RandomState, as_generator
from twofold.evaluation._labels import check_one_label_each, encode_classes
from twofold.evaluation._neighbours import NeighbourOrder
from twofold.evaluation._pairs import pair_similarity
from twofold.evaluation._points import Metric, check_points
from twofold.evaluation._relevance import class_membership
from twofold.evaluation._resampling import (
    Interval,
    Resample,
    bootstrap_intervals,
    check_resampling,
    resolve_resample,
)

EPISODE_NUMBERS = 2**22
"""Numbers that are drawn, or shares of classes that are held, at a time."""


@dataclass(frozen=True, slots=True)
class OneShotScores:
    """How often one example per class was enough.

    Attributes
    ----------
    accuracy : float
        Share of episodes answered correctly, in [0, 1]; 1 / n_way is chance.
    interval : (float, float) or None
        Its 95 % confidence interval; None without resampling.
    resampled : {"classes", "items"} or None
        What was resampled for the interval: classes of queries, or episodes or queries.
    n_way : int
        Number of classes in an episode.
    n_episodes : int or None
        Number of episodes that were drawn; None if all possible ones count.
    n_classes : int
        Number of classes that episodes were made of.
    n_support_only : int
        How many of these have only one item, which can be an example but not a query.
    """

    accuracy: float
    interval: Interval | None
    resampled: Literal["classes", "items"] | None
    n_way: int
    n_episodes: int | None
    n_classes: int
    n_support_only: int


def one_shot_accuracy(
    points: ArrayLike,
    labels: Any,
    *,
    n_way: int = 20,
    n_episodes: int | Literal["all"] = 1000,
    metric: Metric = "euclidean",
    resample: Resample = "auto",
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> OneShotScores:
    """Return the share of queries that are nearest to the example of their own class.

    An episode draws a class with at least two items, each with equal probability, and a query and
    an example from it; then n_way − 1 other classes, and an example of each. If t examples are
    equally near and one of them is the right one, the episode counts 1/t.

    Parameters
    ----------
    points : array_like of float, shape (n_items, dim)
        Finite points; float32 or float64.
    labels : array_like, shape (n_items,)
        Classes. Items of unknown class (-1, NaN, None) are refused.
    n_way : int
        Number of classes in an episode, at least 2.
    n_episodes : int or "all"
        Number of episodes to draw; costs n_episodes · n_way · dim. "all" is the exact expectation
        over all episodes: for a query and its example, with f_c the share of class c that is
        farther away, it is the mean of the product of f_c over all sets of n_way − 1 other classes.
        It costs n_items² · dim + n_pairs · n_classes · n_way, with n_pairs of one class, in bounded
        memory.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        Nearest is: smallest ‖a − b‖, largest a·b, or largest a·b / ‖a‖‖b‖ (0 for a zero vector), or
        fewest bits that differ, of codes packed into bytes.
    resample : {"auto", "classes", "items"}
        What the interval's bootstrap draws: the queries' classes, or episodes (for "all" queries).
        "auto" draws classes if there are at least five; see `retrieval_scores`.
    n_resamples : int
        How often it draws; 0 for no interval.
    random_state : int, Generator or None
        Seed of the episodes and of the bootstrap.
    """
    check_choice("metric", metric, get_args(Metric))
    check_resampling(resample, n_resamples)
    rng = as_generator(random_state)
    table = check_points("points", points)
    classes = _check_classes(labels, len(table))
    sizes = np.bincount(classes)
    _check_episodes(n_way, n_episodes, sizes)
    if n_episodes == "all":
        queries = np.flatnonzero(sizes[classes] > 1)
        right = _expected(table, classes, queries, n_way, metric)
        weights = 1 / sizes[classes[queries]]  # every class counts alike, whatever its size
    else:
        blocks = _draw_episodes(classes, n_way, n_episodes, rng)
        answered = [(query, _answer(table, query, support, metric)) for query, support in blocks]
        queries = np.concatenate([query for query, _ in answered])
        right = np.concatenate([share for _, share in answered])
        weights = np.ones(len(queries))
    interval, resampled = None, None
    if n_resamples:
        membership = class_membership(classes[queries], weights)
        resampled = resolve_resample(resample, membership)
        (interval,) = bootstrap_intervals(right[:, None], membership, resampled, n_resamples, rng)
    return OneShotScores(
        accuracy=float(np.average(right, weights=weights)),
        interval=interval,
        resampled=resampled,
        n_way=n_way,
        n_episodes=None if n_episodes == "all" else n_episodes,
        n_classes=sizes.size,
        n_support_only=int(np.count_nonzero(sizes == 1)),
    )


def _check_classes(labels: Any, n_items: int) -> NDArray[np.int64]:
    """Return classes as numbers 0, 1, …, one for each point."""
    if is_matrix(labels):
        raise TypeError(
            "One-shot accuracy needs one class per item, but labels is a matrix of shape "
            f"{np.shape(labels)}: for several labels per item use retrieval_scores."
        )
    (classes,) = encode_classes(labels=labels)
    check_one_label_each(points=n_items, labels=len(classes))
    return classes


def _check_episodes(n_way: int, n_episodes: Any, sizes: NDArray[np.int64]) -> None:
    """Refuse episodes that cannot be made of classes of these sizes."""
    check_count("n_way", n_way, minimum=2)
    if isinstance(n_episodes, str):
        check_choice("n_episodes", n_episodes, ("all",))
    else:
        check_count("n_episodes", n_episodes)
    if n_way > sizes.size:
        way_out = f"set n_way to at most {sizes.size}" if sizes.size > 1 else "give more classes"
        raise ValueError(
            f"n_way={n_way} needs that many classes, but there are only {sizes.size}: {way_out}."
        )
    if sizes.max() < 2:
        raise ValueError(
            f"Each of {sizes.size} classes has only one item, so that there is no query besides "
            "the example: at least one class needs two items."
        )


def _draw_episodes(
    classes: NDArray[np.int64], n_way: int, n_episodes: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield queries, shape (some,), and examples, shape (some, n_way), the right one first."""
    sizes = np.bincount(classes)
    by_class = np.argsort(classes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    n_rows = max(1, EPISODE_NUMBERS // sizes.size)
    for first in range(0, n_episodes, n_rows):
        some = min(n_rows, n_episodes - first)
        own = rng.choice(np.flatnonzero(sizes > 1), size=some)
        order = rng.random((some, sizes.size))
        order[np.arange(some), own] = -1.0  # below all others
        drawn = np.argsort(order, axis=1)[:, :n_way]
        places = rng.integers(sizes[drawn])
        query_places = rng.integers(sizes[own] - 1)
        query_places += query_places >= places[:, 0]  # any item but the example
        yield by_class[starts[own] + query_places], by_class[starts[drawn] + places]


def _answer(
    table: NDArray[Any], queries: NDArray[np.int64], support: NDArray[np.int64], metric: Metric
) -> NDArray[np.float64]:
    """Return how right each episode is: 1, 0, or 1/t where t examples are equally near."""
    left = np.repeat(queries, support.shape[1])
    similarity = pair_similarity(table, left, support.ravel(), metric).reshape(support.shape)
    is_nearest = similarity == similarity.max(axis=1, keepdims=True)
    return np.asarray(is_nearest[:, 0] / is_nearest.sum(axis=1))


def _expected(
    table: NDArray[Any],
    classes: NDArray[np.int64],
    queries: NDArray[np.int64],
    n_way: int,
    metric: Metric,
) -> NDArray[np.float64]:
    """Return the chance of each query to be answered rightly, over all episodes it is in."""
    order = NeighbourOrder.of(table, table, metric)
    right = np.full(len(table), np.nan)
    sizes = np.bincount(classes)
    n_rows = max(1, EPISODE_NUMBERS // (int(sizes.max()) * sizes.size))

    def score_block(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        nearness = order.without_index(keys)
        for first in range(0, len(some), n_rows):
            rows = some[first : first + n_rows]
            shares = map(_shares_farther, nearness[first : first + n_rows], repeat(classes), rows)
            farther, tied = map(np.concatenate, zip(*shares, strict=True))
            chances = _chances(farther, tied, n_way - 1)
            n_examples = sizes[classes[rows]] - 1
            right[rows] = np.add.reduceat(chances, np.cumsum(n_examples) - n_examples) / n_examples

    order.for_each_block(queries, score_block)
    return right[queries]


def _shares_farther(
    nearness: NDArray[np.int64], classes: NDArray[np.int64], query: np.int64
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which share of each other class is farther than each of the query's own, or as far.

    Both have shape (n_examples, n_classes − 1).
    """
    is_example = classes == classes[query]
    is_example[query] = False
    examples = np.sort(nearness[is_example])
    sizes = np.bincount(classes)

    def shares_beyond(side: Literal["left", "right"]) -> NDArray[np.float64]:
        n_passed = np.searchsorted(examples, nearness, side)  # an item is beyond so many examples
        cells = n_passed * sizes.size + classes
        counts = np.bincount(cells, minlength=(len(examples) + 1) * sizes.size)
        beyond = counts.reshape(-1, sizes.size)[::-1].cumsum(axis=0)[::-1]
        return np.delete(beyond[1:] / sizes, classes[query], axis=1)

    farther = shares_beyond("left")
    return farther, shares_beyond("right") - farther


def _chances(
    farther: NDArray[np.float64], tied: NDArray[np.float64], n_drawn: int
) -> NDArray[np.float64]:
    """Return, for each row, the chance that the example is nearer than `n_drawn` others.

    With ties broken by a uniform number u of the example's own it is ∫₀¹ Π (f_c + u t_c) du, a mean
    over all sets of columns c; the integral of a polynomial of degree `n_drawn`, exact by Gauss.
    """
    if not tied.any():
        return _mean_product(farther, n_drawn)
    nodes, weights = np.polynomial.legendre.leggauss(n_drawn // 2 + 1)
    chances = np.zeros(len(farther))
    for node, weight in zip(nodes, weights, strict=True):
        chances += weight / 2 * _mean_product(farther + (node + 1) / 2 * tied, n_drawn)
    return chances


def _mean_product(shares: NDArray[np.float64], n_drawn: int) -> NDArray[np.float64]:
    """Return the mean product of `n_drawn` entries of each row, over all sets of columns.

    With E_j the mean over the sets of j among the first m columns, column p changes it to
    ((m + 1 − j) E_j + j p E_{j−1}) / (m + 1): the new column is in a set with chance j / (m + 1).
    """
    means = np.zeros((n_drawn + 1, len(shares)))
    means[0] = 1.0
    for m, column in enumerate(np.ascontiguousarray(shares.T)):
        most = min(m + 1, n_drawn)
        j = np.arange(1, most + 1)[:, None]
        means[1 : most + 1] = ((m + 1 - j) * means[1 : most + 1] + j * (column * means[:most])) / (
            m + 1
        )
    return np.asarray(means[n_drawn])
