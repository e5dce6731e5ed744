"""What a store of points is: ids and columns beside points, nearest neighbours, and filters."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from twofold.search._space import Metric
from twofold.search.stores._card import Card
from twofold.search.stores._kinds import NUMBER, TEXT, TRUTH, WHOLE

Points = NDArray[np.float32]
Operator = Literal["=", "<", "<=", ">", ">="]
Value = str | int | float | bool
ID, VECTOR = "id", "vector"
"""Columns that are the stores' own."""
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Not 0012, which is text: a number would not say how it is written."""
INT64_DIGITS = 18
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


def check_condition(condition: Condition, card: Card) -> None:
    """Refuse a condition on a column that is not kept, or whose kind does not compare with it."""
    name, value = condition.column, condition.value
    if name not in (*card.columns, ID):
        raise ValueError(
            f"The index has no column {name!r}: its columns are {', '.join((ID, *card.columns))}."
        )
    kind = dict(zip(card.columns, card.kinds, strict=False)).get(name)
    if kind == TEXT and not isinstance(value, str):
        text = str(value).lower() if isinstance(value, bool) else value
        raise ValueError(
            f"The index keeps the column {name!r} as text, which cannot be compared with {text}: "
            f"write {name} {condition.operator} '{text}' to compare it as text."
        )
    if kind in (WHOLE, NUMBER) and isinstance(value, str | bool):
        raise ValueError(
            f"The column {name!r} holds numbers, which cannot be compared with {value!r}: write a "
            f"number, as in {name} <= 20."
        )
    if kind == TRUTH and not isinstance(value, bool):
        raise ValueError(
            f"The column {name!r} holds true or false, which cannot be compared with {value!r}: "
            f"write {name} = true."
        )


def _value_of(text: str) -> Value:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _NUMBER.fullmatch(text) is None:
        return text
    digits = text.lstrip("+-")
    if digits.isdigit() and len(digits) <= INT64_DIGITS:
        return int(text)
    return float(text) if math.isfinite(float(text)) else text
