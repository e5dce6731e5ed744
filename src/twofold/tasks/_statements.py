"""What a user says is alike, from a column, a file of pairs or a file of triplets.

Rows of two tables are numbered through: those of the right one come after those of the left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twofold.datasets import NamedPairs, Records, read_pairs, read_triplets
from twofold.relations import LabelRelation, PairRelation, Relation, TripletRelation

SEPARATORS = (";", "|")
"""Between the labels of an item that has several."""


def read_relation(
    left: Records,
    right: Records | None,
    *,
    labels: str | None = None,
    pairs: Path | None = None,
    triplets: Path | None = None,
) -> Relation:
    """Read the one of labels, pairs and triplets that was named, over the rows of both tables."""
    named = [name for name in (labels, pairs, triplets) if name is not None]
    if len(named) != 1:
        raise ValueError(
            "Say what is alike in one way: --labels COLUMN, --pairs FILE or --triplets FILE; "
            f"{len(named)} were given."
        )
    if labels is not None:
        if right is not None:
            raise ValueError("--labels is for one table: with --right, name the pairs by --pairs.")
        return LabelRelation(read_labels(left, labels))
    if pairs is not None:
        return as_pair_relation(read_pairs(pairs, left, right), left, right)
    if right is not None:
        raise ValueError("--triplets is for one table: leave --right out.")
    assert triplets is not None
    stated = read_triplets(triplets, left)
    return TripletRelation(stated.anchor, stated.positive, stated.negative, left.n_items)


def as_pair_relation(stated: NamedPairs, left: Records, right: Records | None) -> PairRelation:
    """Return pairs of rows as a relation over the rows of both tables."""
    offset = 0 if right is None else left.n_items
    n_items = left.n_items + (0 if right is None else right.n_items)
    return PairRelation(stated.left, stated.right + offset, stated.similar, n_items, stated.weight)


def read_labels(records: Records, column: str) -> Any:
    """Return a column of classes, or of several labels an item as a 0/1 matrix.

    An empty field is an unknown class. Where values hold ";" or "|", each is several labels.
    """
    records.require([column])
    values = records.table[column].to_pylist()
    texts = [None if value is None or value == "" else str(value).strip() for value in values]
    separator = next(
        (mark for mark in SEPARATORS if any(text and mark in text for text in texts)), None
    )
    if separator is None:
        return texts
    from sklearn.preprocessing import MultiLabelBinarizer

    several = [[part.strip() for part in (text or "").split(separator)] for text in texts]
    named = [[part for part in parts if part] for parts in several]
    return MultiLabelBinarizer(sparse_output=True).fit_transform(named)
