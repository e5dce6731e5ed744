"""The items that a learner places nearest to others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold.evaluation import Metric
from twofold.search import NeighbourIndex, Neighbours


def nearest_points(
    points: NDArray[np.float32],
    k: int,
    metric: Metric,
    among: NDArray[np.float32] | None = None,
) -> Neighbours:
    """Return the `k` nearest rows of `among` to each point; see `EmbeddingLearner.neighbours`."""
    k = check_count("k", k)
    index = NeighbourIndex(metric, approximate=False)
    table = points if among is None else among
    index.add(range(len(table)), table)
    if among is not None:
        return index.query(points, k)
    return _without_themselves(index.query(points, k + 1), min(k, len(points) - 1))


def _without_themselves(neighbours: Neighbours, k: int) -> Neighbours:
    """Leave out row i of the neighbours of row i, or the last where equal ones came before it."""
    rows = neighbours.rows
    is_other = rows != np.arange(len(rows))[:, None]
    is_other[is_other.all(axis=1), -1] = False
    shape = (len(rows), k)
    return replace(
        neighbours,
        ids=neighbours.ids[is_other].reshape(shape),
        rows=rows[is_other].reshape(shape),
        similarity=neighbours.similarity[is_other].reshape(shape),
        distance=neighbours.distance[is_other].reshape(shape),
    )
