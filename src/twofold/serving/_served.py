"""What is served: a model, how its items are read, and the index whose neighbours are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold import __version__
from twofold._core.plain_json import json_value
from twofold.evaluation import pair_similarity
from twofold.search.stores import Condition, VectorStore
from twofold.serving._items import Items, TableRows, items_of
from twofold.serving._request import ServeRequest
from twofold.tasks import PreparedModel, open_index

Points = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A model and its index, ready to be asked.

    Attributes
    ----------
    name : str
        Of the model's folder.
    model : PreparedModel
        What embeds.
    items : Items
        How a client's items are read.
    index : VectorStore or None
        Of points of this model.
    """

    name: str
    model: PreparedModel
    items: Items
    index: VectorStore | None

    @classmethod
    def open(cls, request: ServeRequest) -> Served:
        """Open what is to be served, and use it once: the first client does not wait for that."""
        model = PreparedModel.open(request.model, device=request.device)
        index = None
        if request.index is not None:
            index = open_index(request.index, request.model, model)
            index.query(_any_point(model.learner.n_components_, index.metric), 1)
        return cls(request.model.resolve().name, model, items_of(model), index)

    @property
    def metric(self) -> str:
        """How points are compared."""
        return self.model.learner.metric_

    @property
    def has_pair_model(self) -> bool:
        """Whether pairs are decided by a model of their own."""
        return self.model.pair_classifier is not None

    def embed(self, features: Any) -> Points:
        """Return the points of features."""
        return self.model.learner.transform(features)

    def similarity(self, points: Points) -> NDArray[np.float32]:
        """Return how alike item k of the first half is to item k of the second."""
        rows = np.arange(len(points) // 2)
        return pair_similarity(points, rows, rows + rows.size, self.model.learner.metric_)

    def probability(self, left: list[Any], right: list[Any], points: Points) -> NDArray[np.float64]:
        """Return what the pair model says of item k of both sides."""
        assert isinstance(self.items, TableRows)
        sides = self.items.records(left), self.items.records(right)
        rows = np.arange(len(left))
        halves = points[: rows.size], points[rows.size :]
        return self.model.pair_scores(*sides, np.column_stack([rows, rows]), halves)

    def same(self, scores: NDArray[Any]) -> list[bool] | None:
        """Say of pairs whether they reach the threshold; None if the model has none."""
        threshold = self.model.decision.threshold
        return None if threshold is None else [bool(value >= threshold) for value in scores]

    def nearest(
        self, points: Points, k: int, where: Sequence[Condition]
    ) -> list[list[dict[str, Any]]]:
        """Return the nearest items of the index for each point."""
        assert self.index is not None
        found = self.index.query(points, k, where)
        return [[json_value(asdict(hit)) for hit in hits] for hits in found]

    def facts(self) -> dict[str, Any]:
        """Return what a client should know of the model."""
        model = self.model
        return {
            "name": self.name,
            "learner": type(model.learner).__name__,
            "takes": model.source,
            "columns": model.column_names,
            "n_components": model.learner.n_components_,
            "metric": self.metric,
            "decides_by": model.decision.by,
            "threshold": model.decision.threshold,
            "n_indexed": None if self.index is None else self.index.n_items,
            "twofold": __version__,
        }


def _any_point(n_components: int, metric: str) -> NDArray[Any]:
    """Return a point, or a code where codes are compared, shape (1, n_components or bytes)."""
    if metric == "hamming":
        return np.zeros((1, -(-n_components // 8)), dtype=np.uint8)
    return np.ones((1, n_components), dtype=np.float32)
