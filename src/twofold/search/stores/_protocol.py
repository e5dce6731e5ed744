"""What a store of points is: ids and columns beside points, nearest neighbours, and filters."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from twofold.search._space import Metric

Points = NDArray[np.float32]
Operator = Literal["=", "<", "<=", ">", ">="]
Value = str | int | float | bool
ID, VECTOR = "id", "vector"
"""Columns that are the stores' own."""
_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<operator><=|>=|=|<|>)\s*(?P<value>.*?)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a column of a neighbour.

    Attributes
    ----------
    column : str
        A column that is kept with the points.
    operator : {"=", "<", "<=", ">", ">="}
        How it is compared.
    value : str, int, float or bool
        What it is compared with.
    """

    column: str
    operator: Operator
    value: Value

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition such as "price <= 20" or "maker = 'acme'"."""
        found = _CONDITION.fullmatch(text)
        if found is None or found["operator"] not in get_args(Operator):
            raise ValueError(f"{text!r} is not a condition: write it as price<=20 or maker=acme.")
        operator = cast("Operator", found["operator"])
        return cls(found["column"], operator, _value_of(found["value"]))


@dataclass(frozen=True, slots=True)
class Hit:
    """One neighbour.

    Attributes
    ----------
    id : int or str
        Its id.
    similarity, distance : float
        Large, and small, for the alike.
    fields : dict
        Its columns.
    """

    id: Hashable
    similarity: float
    distance: float
    fields: dict[str, Any]


class VectorStore(Protocol):
    """A store of points by id, with columns."""

    @property
    def metric(self) -> Metric:
        """How points are compared."""

    @property
    def n_items(self) -> int:
        """How many there are."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are kept with the points."""

    def upsert(self, ids: Sequence[Hashable], points: Points, columns: Any) -> None:
        """Add points and an Arrow table of as many rows; those with existing ids are replaced."""

    def query(self, points: Points, k: int, where: Sequence[Condition] = ()) -> list[list[Hit]]:
        """Return the nearest of those that meet all conditions, most similar first, `k` at most."""

    def flush(self) -> None:
        """Write everything to disk."""

    def close(self) -> None:
        """Close files and connections."""


def distance_from(metric: Metric, similarity: float) -> float:
    """Return the distance that belongs to a similarity."""
    return -similarity if metric == "euclidean" else 1.0 - similarity


def check_condition(condition: Condition, columns: Sequence[str]) -> None:
    """Refuse a condition on a column that is not kept."""
    if condition.column not in (*columns, ID):
        raise ValueError(
            f"The index has no column {condition.column!r}: its columns are "
            f"{', '.join((ID, *columns))}."
        )


def _value_of(text: str) -> Value:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
