"""How a column is turned into features, and what a user should know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "category", "date", "text", "vector", "image", "id", "dropped"]
KINDS: tuple[Kind, ...] = (
    "number",
    "category",
    "date",
    "text",
    "vector",
    "image",
    "id",
    "dropped",
)
"""The last three become no features: images are `ImagePreparation`'s, ids tell nothing."""


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is turned into features.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        One of `KINDS`.
    n_missing : int
        Number of rows without a value when it was fitted.
    n_features : int
        Number of features it is turned into.
    note : str
        Anything the user should know, such as why it was dropped or how it was read.
    """

    name: str
    kind: Kind
    n_missing: int
    n_features: int
    note: str = ""
