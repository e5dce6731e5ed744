"""Learnt distances that are Mahalanobis distances: ‖L u − L v‖, with L from the embedder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Metric
from twofold.regression import Embedder, describe_embedder, linear_map


@dataclass(frozen=True, slots=True, eq=False)
class PointSource:
    """What points are made of.

    Attributes
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        From features to points.
    metric : {"euclidean", "cosine", "dot"}
        How points are compared.
    shape : tuple of int
        Of one item.
    is_finished : bool
        Whether points are the embedder's own, with no metric step and no scaling to length 1.
    """

    embedder: Embedder
    metric: Metric
    shape: tuple[int, ...]
    is_finished: bool

    def components(self) -> NDArray[np.float64] | None:
        """Return L, shape (n_components, n_features), None if there is none."""
        if self.metric != "euclidean" or not self.is_finished:
            return None
        found = linear_map(self.embedder, int(np.prod(self.shape)))
        return None if found is None else found.matrix

    def why_not(self) -> str:
        """Say why there is no L, and what to use instead."""
        if self.metric != "euclidean":
            why = f"points are compared by {self.metric}, not by their Euclidean distance"
        else:
            why = f"{describe_embedder(self.embedder)} is not a linear map"
        return (
            f"There is no Mahalanobis matrix: {why}. Use transform, pair_distance or get_metric; "
            "or fit with embedder=sklearn.linear_model.Ridge(), targets=Targets('contrastive') and "
            "feedback=0."
        )
