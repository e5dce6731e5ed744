"""Codes that know nothing of what is alike: signs of directions of the features."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold._core.random import RandomState, as_generator
from twofold.baselines._flat_features import dense_rows, flat_features
from twofold.baselines._flat_learner import FlatLearner, blocks
from twofold.baselines._linear import linear_embedder
from twofold.estimators import CodeLearner
from twofold.relations import Relation
from twofold.targets import rotate_to_binary


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The mean and the covariance of some rows."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any) -> Moments:
        """Return those of all rows, summed a block at a time."""
        n_rows, n_features = X.shape
        total, products = np.zeros(n_features), np.zeros((n_features, n_features))
        for rows in blocks(X):
            some = dense_rows(X, rows)
            total += some.sum(axis=0)
            products += some.T @ some
        mean = total / n_rows
        return cls(mean, products / n_rows - np.outer(mean, mean))


@dataclass(eq=False, repr=False)
class LinearCodeLearner(CodeLearner, FlatLearner):
    """Signs of a linear map of centred features; which map is the subclass's.

    Parameters
    ----------
    n_bits : int
        Of a code.
    random_state : int, Generator or None
        Of what is drawn.
    """

    n_bits: int = 64
    _: KW_ONLY
    random_state: RandomState = None

    @abstractmethod
    def _directions(self, X: Any, moments: Moments, rng: np.random.Generator) -> Any:
        """Return a row per bit, float64 of shape (n_bits, n_features)."""

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from the features alone; `y` and `relation` are not looked at."""
        n_bits = check_count("n_bits", self.n_bits)
        X = flat_features(self, X, reset=True)
        began = time.perf_counter()
        moments = Moments.of(X)
        directions = self._directions(X, moments, as_generator(self.random_state))
        self.history_: dict[str, Any] = {}
        self._keep(linear_embedder(directions, moments.mean), n_bits, began, "hamming")
        return self

    def _embed(self, rows: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        return self.embedder_.predict(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


@dataclass(eq=False, repr=False)
class LSHLearner(LinearCodeLearner):
    """Locality-sensitive hashing: the signs of random directions of the centred features."""

    def _directions(
        self, X: Any, moments: Moments, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return rng.standard_normal((self.n_bits, moments.mean.size))


@dataclass(eq=False, repr=False)
class ITQLearner(LinearCodeLearner):
    """Iterative quantisation: leading directions, rotated so that taking signs loses least.

    Gong and Lazebnik, 2011. If there are fewer directions than bits, a rotation maps them to more.
    """

    def _directions(
        self, X: Any, moments: Moments, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        values, vectors = np.linalg.eigh(moments.covariance)
        leading = np.argsort(values)[::-1][: min(self.n_bits, (values > 1e-12 * values[-1]).sum())]
        axes = vectors[:, leading]
        points = np.concatenate([(dense_rows(X, r) - moments.mean) @ axes for r in blocks(X)])
        rotation, _ = rotate_to_binary(points, self.n_bits, rng)
        directions: NDArray[np.float64] = (axes @ rotation).T
        return directions
