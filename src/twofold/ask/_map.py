"""All items in two dimensions: t-SNE of some landmarks, the others between their nearest ones.

A map starts from the one before, so that it moves as answers come and does not jump.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from twofold.evaluation import Metric, nearest_indices

N_LANDMARKS, N_NEAREST = 1000, 3
"""Items that t-SNE places, in about a second, and those among which any other item lies."""
MOST_DIRECTIONS = 32
"""Of the points: further ones cost more than they show."""
PERPLEXITY = 30.0
FIRST_ROUNDS, FURTHER_ROUNDS = 500, 250
"""Of t-SNE: from nothing, and from an earlier map."""


class MapMaker:
    """Makes maps of the same items, each from the one before.

    Parameters
    ----------
    n_items : int
        Of every map.
    random_state : int
        Chooses the landmarks.
    """

    def __init__(self, n_items: int, random_state: int = 0) -> None:
        rng = np.random.default_rng(random_state)
        self._landmarks = np.sort(rng.permutation(n_items)[:N_LANDMARKS])
        self._seed = random_state
        self._last: NDArray[np.float32] | None = None

    def draw(self, points: NDArray[np.float32], metric: Metric) -> NDArray[np.float32]:
        """Return places in [0, 1] of all items, shape (n_items, 2)."""
        leading = _leading(points, metric, self._landmarks)
        marks = leading[self._landmarks]
        if len(marks) < 5:  # too few for neighbourhoods to mean anything
            return _in_square(_first_two(leading))
        self._last = self._place(marks)
        if len(marks) == len(leading):
            return _in_square(self._last)
        nearest = nearest_indices(leading, marks, N_NEAREST, "euclidean")
        distance = np.linalg.norm(leading[:, None] - marks[nearest], axis=2)
        weight = 1 / (distance + 1e-6)
        weight /= weight.sum(axis=1, keepdims=True)
        return _in_square(np.einsum("ij,ijk->ik", weight, self._last[nearest]))

    def _place(self, marks: NDArray[np.float32]) -> NDArray[np.float32]:
        is_first = self._last is None
        tsne = TSNE(
            perplexity=min(PERPLEXITY, (len(marks) - 1) / 3),
            init="pca" if is_first else self._last,
            early_exaggeration=12.0 if is_first else 1.0,
            max_iter=FIRST_ROUNDS if is_first else FURTHER_ROUNDS,
            random_state=self._seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of points that coincide
            return np.asarray(tsne.fit_transform(marks), dtype=np.float32)


def _leading(
    points: NDArray[np.float32], metric: Metric, landmarks: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return points in their leading directions, such that distances go by the metric."""
    if metric == "cosine":
        points = np.asarray(normalize(points))
    if points.shape[1] <= MOST_DIRECTIONS:
        return np.asarray(points, dtype=np.float32)
    n_directions = min(MOST_DIRECTIONS, len(landmarks))
    pca = PCA(n_directions, random_state=0).fit(points[landmarks])
    return np.asarray(pca.transform(points), dtype=np.float32)


def _first_two(points: NDArray[np.float32]) -> NDArray[np.float32]:
    two = np.zeros((len(points), 2), dtype=np.float32)
    two[:, : min(2, points.shape[1])] = points[:, :2]
    return two


def _in_square(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return places moved and scaled, both axes alike, into the unit square with a margin."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    return np.asarray(0.5 + 0.94 * (places - (low + high) / 2) / size, dtype=np.float32)
