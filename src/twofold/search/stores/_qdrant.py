"""Qdrant: a server, or, for trying it out, a folder that its client keeps by itself."""

from __future__ import annotations

import uuid
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twofold.search._space import Metric
from twofold.search.stores._card import Card
from twofold.search.stores._columns import take_columns
from twofold.search.stores._kinds import NUMBER
from twofold.search.stores._protocol import (
    ID,
    Condition,
    Hit,
    Points,
    check_condition,
    distance_from,
)

FOLDER = "qdrant"
BATCH_ROWS = 1000
NAMES = uuid.UUID("0c7a3f0e-4f0a-5c5e-9a55-8d6a8f0c9e21")
"""Of ids that Qdrant does not take as they are: it has whole numbers and UUIDs."""


def require_qdrant() -> None:
    """Refuse to begin without Qdrant's client."""
    if find_spec("qdrant_client") is None:
        raise ImportError(
            "An index with --store qdrant needs Qdrant's client: pip install 'twofold[qdrant]'."
        )


class QdrantStore:
    """See `VectorStore`. Columns are payload, and so is the id under its own name.

    The collection is called by the model's fingerprint, so that two models share a server.
    """

    def __init__(self, folder: Path, card: Card) -> None:
        require_qdrant()
        from qdrant_client import QdrantClient, models

        self._folder, self._card, self._models = folder, card, models
        self._place = card.url or str(folder / FOLDER)
        self._collection = f"twofold-{card.model[:16]}"
        with self._said():
            self._client = (
                QdrantClient(path=self._place, force_disable_check_same_thread=True)
                if card.url is None
                else QdrantClient(url=card.url, check_compatibility=False)
            )
            if not self._client.collection_exists(self._collection):
                distances = models.Distance
                kinds = {
                    "cosine": distances.COSINE,
                    "euclidean": distances.EUCLID,
                    "dot": distances.DOT,
                }
                vectors = models.VectorParams(size=card.dim, distance=kinds[card.metric])
                self._client.create_collection(self._collection, vectors_config=vectors)

    @property
    def metric(self) -> Metric:
        """How points are compared."""
        return self._card.metric

    @property
    def n_items(self) -> int:
        """How many there are."""
        with self._said():
            return int(self._client.count(self._collection, exact=True).count)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are kept with the points."""
        return self._card.columns

    def upsert(self, ids: Sequence[Hashable], points: Points, columns: Any) -> None:
        """Take in points; see `VectorStore`."""
        card, columns = take_columns(self._card, self.n_items, columns)
        if card != self._card:
            card.write(self._folder)
            self._card = card
        rows = columns.to_pylist() if card.columns else [{} for _ in ids]
        for first in range(0, len(ids), BATCH_ROWS):
            some = slice(first, first + BATCH_ROWS)
            batch = self._models.Batch(
                ids=[_point_id(one) for one in ids[some]],
                vectors=points[some].tolist(),
                payloads=[{**row, ID: one} for one, row in zip(ids[some], rows[some], strict=True)],
            )
            with self._said():
                self._client.upsert(self._collection, points=batch)

    def query(self, points: Points, k: int, where: Sequence[Condition] = ()) -> list[list[Hit]]:
        """Return the nearest; see `VectorStore`."""
        for condition in where:
            check_condition(condition, self._card)
        must = [self._as_filter(condition) for condition in where]
        chosen = self._models.Filter(must=must) if must else None
        with self._said():
            return [
                [
                    self._hit(one)
                    for one in self._client.query_points(
                        self._collection, query=point.tolist(), limit=k, query_filter=chosen
                    ).points
                ]
                for point in points
            ]

    def _hit(self, point: Any) -> Hit:
        similarity = -point.score if self.metric == "euclidean" else point.score
        fields = {name: point.payload.get(name) for name in self._card.columns}
        name = point.payload[ID]
        return Hit(name, similarity, distance_from(self.metric, similarity), fields)

    def _as_filter(self, condition: Condition) -> Any:
        models, value = self._models, condition.value
        kinds = dict(zip(self._card.columns, self._card.kinds, strict=False))
        is_float = isinstance(value, float) or kinds.get(condition.column) == NUMBER
        if condition.operator == "=" and not is_float:
            return models.FieldCondition(key=condition.column, match=models.MatchValue(value=value))
        if isinstance(value, str):
            raise ValueError(
                f"Qdrant only compares text with =, got {condition.operator} {value!r}."
            )
        bounds = {"<": ("lt",), "<=": ("lte",), ">": ("gt",), ">=": ("gte",), "=": ("lte", "gte")}
        limits = dict.fromkeys(bounds[condition.operator], float(value))
        return models.FieldCondition(key=condition.column, range=models.Range(**limits))

    def flush(self) -> None:
        """Qdrant has written what it took in."""

    def close(self) -> None:
        """Let go of the folder, or the connection."""
        self._client.close()

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Turn what its client raises into one sentence."""
        from qdrant_client.http.exceptions import ApiException

        try:
            yield
        except ApiException as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise OSError(
                f"Qdrant does not answer at {self._place} ({reason}): start it there, or give "
                "another --url."
            ) from error
        except RuntimeError as error:
            if "already accessed" not in str(error):
                raise
            raise OSError(
                f"{self._place} is in use by another program: stop it, or run a Qdrant server and "
                "give its --url."
            ) from error


def _point_id(one: Hashable) -> int | str:
    """Return an id as Qdrant takes it."""
    if type(one) is int and 0 <= one < 2**63:
        return one
    return str(uuid.uuid5(NAMES, f"{type(one).__name__} {one}"))
