"""What becomes of a column: its kind, and what a user should know of it."""

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
    """What becomes of one column.

    Attributes
    ----------
    name : str
        Of the column.
    kind : str
        One of `KINDS`.
    n_missing : int
        Rows without a value when it was fitted.
    n_features : int
        Features that it becomes.
    note : str
        What a user should know: why it was dropped, how it was read.
    """

    name: str
    kind: Kind
    n_missing: int
    n_features: int
    note: str = ""
