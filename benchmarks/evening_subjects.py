"""Projects that a simulated person is asked about, and items that never were in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.entity_features import text_features
from twofold.datasets import load_entity_pairs, load_mnist, load_omniglot


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A project, and items that never were in it.

    `kind` is the same number for items that are the same; `n_left` and `n_left_new` are sizes of
    the left tables, None for one table.
    """

    features: Any
    kind: NDArray[np.int64]
    new: Any
    new_kind: NDArray[np.int64]
    n_left: int | None = None
    n_left_new: int | None = None


def split_items(X: Any, kind: NDArray[np.int64], seed: int) -> Subject:
    """Return a project of seven tenths of the items."""
    project, new = train_test_split(
        np.arange(len(kind)), test_size=0.3, stratify=kind, random_state=seed
    )
    return Subject(X[project], kind[project], X[new], kind[new])


def digits(seed: int) -> Subject:
    X, y = load_digits(return_X_y=True)
    return split_items(X.astype(np.float32), y, seed)


@lru_cache(maxsize=1)
def _mnist() -> tuple[Any, Any, Any, Any]:
    train, test = load_mnist("train"), load_mnist("test")
    return tuple(  # type: ignore[return-value]
        part
        for one in (train, test)
        for part in (
            one.images.reshape(len(one.images), -1).astype(np.float32) / np.float32(255),
            one.classes,
        )
    )


def mnist(seed: int, n: int = 10_000) -> Subject:
    X, y, new, new_y = _mnist()
    rng = np.random.default_rng(seed)
    project, some = (
        rng.choice(len(y), n, replace=False),
        rng.choice(len(new_y), 2000, replace=False),
    )
    return Subject(X[project], y[project], new[some], new_y[some])


@lru_cache(maxsize=1)
def _omniglot() -> tuple[Any, Any]:
    drawn = load_omniglot("small1", size=28)
    images = drawn.images.reshape(len(drawn.images), -1).astype(np.float32) / np.float32(255)
    return images, drawn.classes


def omniglot(seed: int) -> Subject:
    return split_items(*_omniglot(), seed)


@lru_cache(maxsize=1)
def _records() -> tuple[Any, NDArray[np.int64], NDArray[np.bool_]]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = load_entity_pairs("dblp-acm")
    features = text_features(pairs.records)
    parts = (pairs.train, pairs.valid, pairs.test)
    left = np.concatenate([part.left for part in parts])
    right = np.concatenate([part.right for part in parts])
    same = np.concatenate([part.similar for part in parts]) > 0
    is_left = np.zeros(len(features), dtype=bool)
    is_left[left] = True
    n = len(features)
    graph = coo_array((np.ones(same.sum()), (left[same], right[same])), shape=(n, n))
    kind = connected_components(graph, directed=False)[1].astype(np.int64)
    return features, kind, is_left


def records(seed: int) -> Subject:
    """Return seven tenths of the things that records describe, with all records of each."""
    features, kind, is_left = _records()
    rng = np.random.default_rng(seed)
    is_new = rng.random(kind.max() + 1)[kind] < 0.3

    def table(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.concatenate([np.flatnonzero(chosen & is_left), np.flatnonzero(chosen & ~is_left)])

    project, new = table(~is_new), table(is_new)
    return Subject(
        features[project],
        kind[project],
        features[new],
        kind[new],
        int((~is_new & is_left).sum()),
        int((is_new & is_left).sum()),
    )


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "digits": digits,
    "mnist": mnist,
    "omniglot": omniglot,
    "dblp-acm": records,
}
