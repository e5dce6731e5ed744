"""A user's files for an inspection: pairs and, if they are given, the items of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.warnings import RelationWarning, unsaid
from twofold.datasets import Records, load_pairs, load_table, read_pairs, read_tables
from twofold.preparation import ColumnPlan, TablePreparation
from twofold.relations import PairRelation

Fields = Callable[[int], dict[str, str]]
"""Returns an item's fields by their names, as text."""


@dataclass(frozen=True, slots=True, eq=False)
class InspectedFiles:
    """What `inspect_pairs` takes.

    Attributes
    ----------
    relation : PairRelation
        The statements; of two tables, the right one's rows come after the left one's.
    keys : ndarray, shape (n_items,)
        Ids of the items.
    features : ndarray or csr_array of float32, or None
        Made of the items' columns, if these are given.
    fields : callable (item) -> dict, or None
        What an item says of itself; None for items that are numbers only.
    notes : tuple of str
        What was made of the columns, and what was not as usual.
    n_left : int or None
        Rows of the left table, where there are two.
    """

    relation: PairRelation
    keys: NDArray[Any]
    features: Any = None
    fields: Fields | None = None
    notes: tuple[str, ...] = ()
    n_left: int | None = None


def read_inspected(
    pairs: str | os.PathLike[str],
    features: str | os.PathLike[str] | None = None,
    right: str | os.PathLike[str] | None = None,
    *,
    key: str | None = None,
) -> InspectedFiles:
    """Read pairs and, if they are given, the items.

    Parameters
    ----------
    pairs : path
        CSV or Parquet with columns left, right, similar and, optionally weight.
    features : path, optional
        A row per item: whatever `twofold.datasets.read_records` reads, but for images. Columns of
        numbers are taken as they are; a table that has others is prepared by `TablePreparation`.
    right : path, optional
        A second table with the same columns, which the right column of the pairs names.
    key : str, optional
        The column with the ids of the rows; see `twofold.datasets.read_tables`.
    """
    if features is None:
        if right is not None or key is not None:
            raise ValueError("right and key refer to the table of items: give features too.")
        stated = load_pairs(pairs)
        return InspectedFiles(_relation(stated, stated.n_items), stated.keys, notes=stated.notes)
    left, other = read_tables(features, right, id_column=key, pairs=pairs)
    for records in (left,) if other is None else (left, other):
        _refuse_images(records)
    if other is not None:
        return _two_tables(pairs, left, other)
    if is_numbers(left):
        table = load_table(features, left.id_column)
        stated = load_pairs(pairs, table.keys)
        relation = _relation(stated, stated.n_items)
        notes = tuple(dict.fromkeys((*left.notes, *table.notes)))
        return InspectedFiles(relation, stated.keys, table.features, None, notes)
    named = read_pairs(pairs, left)
    prepared, notes = _prepared(left.table)
    return InspectedFiles(
        _relation(named, left.n_items),
        left.ids,
        prepared,
        left.fields,
        (*left.notes, *named.notes, *notes),
    )


def is_numbers(records: Records) -> bool:
    """Whether items are a matrix, or columns of numbers without a gap."""
    import pyarrow as pa

    if records.table is None:
        return True
    return all(
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_boolean(column.type)
        for column in records.table.columns
    )


def _two_tables(pairs: str | os.PathLike[str], left: Records, right: Records) -> InspectedFiles:
    named = read_pairs(pairs, left, right)
    if (left.table is None) != (right.table is None):
        raise ValueError(
            f"One of {left.path} and {right.path} is a matrix and the other a table: give two of "
            "the same kind, with the same columns."
        )
    notes: tuple[str, ...] = ()
    if left.table is None:
        features = _stacked(left.features, right.features)
    else:
        features, notes = _prepared(left.table, right.table)
    n_left = left.n_items

    def fields(item: int) -> dict[str, str]:
        return left.fields(item) if item < n_left else right.fields(item - n_left)

    below = replace(named, right=named.right + n_left)
    return InspectedFiles(
        _relation(below, n_left + right.n_items),
        _joined_ids(left, right),
        features,
        None if left.table is None else fields,
        (*left.notes, *right.notes, *named.notes, *notes),
        n_left,
    )


def _refuse_images(records: Records) -> None:
    if records.path.is_dir():
        raise ValueError(
            f"{records.path} is a folder of images, but pairs are inspected with tables or "
            "matrices: give a table about the items, or embeddings of the images as .npy."
        )


def _prepared(table: Any, right: Any = None) -> tuple[Any, tuple[str, ...]]:
    """Return features of one table, or of two below each other, and what became of the columns."""
    preparation = TablePreparation().fit(table, right=right)
    parts = [preparation.transform(each) for each in (table, right) if each is not None]
    features = parts[0] if len(parts) == 1 else _stacked(*parts)
    return features, (_told_columns(preparation.columns_),)


def _told_columns(plans: Sequence[ColumnPlan]) -> str:
    """Return what the columns are taken for, in a sentence."""
    told = []
    for plan in plans:
        facts = [plan.kind, *([f"{plan.n_missing:,} missing"] if plan.n_missing else [])]
        if plan.kind == "number" and plan.note:
            facts.append(plan.note)
        if plan.kind == "dropped" or not plan.n_features:
            facts = ["not used", *filter(None, [plan.note])]
        told.append(f"{plan.name} ({', '.join(facts)})")
    return f"The columns are taken for: {'; '.join(told)}."


def _stacked(left: Any, right: Any) -> Any:
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"The left items have {left.shape[1]} features and the right ones {right.shape[1]}: "
            "give both the same columns."
        )
    if sparse.issparse(left) or sparse.issparse(right):
        return sparse.csr_array(sparse.vstack([left, right], format="csr"))
    return np.vstack([left, right])


def _joined_ids(left: Records, right: Records) -> NDArray[Any]:
    """Return what the rows of two tables are called: by their tables too, where ids come twice."""
    ids = [[str(name) for name in records.ids] for records in (left, right)]
    if set(ids[0]) & set(ids[1]):
        stems = left.path.stem, right.path.stem
        stems = stems if stems[0] != stems[1] else ("left", "right")
        ids = [[f"{stem} {name}" for name in names] for stem, names in zip(stems, ids, strict=True)]
    return np.array([*ids[0], *ids[1]], dtype=object)


def _relation(stated: Any, n_items: int) -> PairRelation:
    with unsaid(RelationWarning):  # all of it is told by the inspection
        return PairRelation(stated.left, stated.right, stated.similar, n_items, stated.weight)
