"""Statements as plain arrays, to be saved and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from twofold.relations._item_folds import Statements
from twofold.relations._pairs import PairRelation
from twofold.relations._triplets import TripletRelation


def statement_arrays(statements: Statements) -> dict[str, Any]:
    """Return what pairs or triplets consist of, by name; a weight only if there is one."""
    values = {field.name: getattr(statements, field.name) for field in fields(statements)}
    return {name: value for name, value in values.items() if value is not None}


def statements_of(arrays: Mapping[str, Any]) -> Statements:
    """Return the pairs or triplets that `statement_arrays` was given."""
    kind = TripletRelation if "anchor" in arrays else PairRelation
    return kind(**{**arrays, "n_items": int(arrays["n_items"])})
