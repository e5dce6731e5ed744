"""What a user says is alike, from a column, a file of pairs or a file of triplets.

Rows of two tables are numbered through: those of the right one come after those of the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from twofold._core.reasons import reason_of
from twofold._core.warnings import RelationWarning, unsaid, warn_user
from twofold.datasets import NamedPairs, Records, read_pairs, read_triplets
from twofold.relations import (
    LabelRelation,
    PairRelation,
    Relation,
    TripletRelation,
    refuse_one_sided,
)

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
            "Say what is alike with exactly one of --labels COLUMN, --pairs FILE and --triplets "
            f"FILE; {len(named)} were given."
        )
    if labels is not None:
        if right is not None:
            raise ValueError("--labels is for one table: with --right, give pairs with --pairs.")
        with _said_of(f"The column {labels!r} of {left.path}"):
            return _two_sided(LabelRelation(read_labels(left, labels)))
    if pairs is not None:
        relation = read_pair_relation(pairs, left, right)
        with _said_of(str(pairs)):
            return _two_sided(relation)
    if right is not None:
        raise ValueError("--triplets is for one table: leave --right out.")
    assert triplets is not None
    compared = read_triplets(triplets, left)
    _say_notes(compared.notes)
    return TripletRelation(compared.anchor, compared.positive, compared.negative, left.n_items)


@contextmanager
def _said_of(where: str) -> Iterator[None]:
    """Say of statements from which nothing can be learnt where they stand."""
    try:
        yield
    except ValueError as error:
        if where in str(error) or "has no column" in str(error):
            raise
        raise ValueError(f"{where} is not enough to learn from ({reason_of(error)}).") from error


def _two_sided(relation: Relation) -> Relation:
    refuse_one_sided(relation)
    return relation


def read_pair_relation(path: Path, left: Records, right: Records | None) -> PairRelation:
    """Read pairs of rows as a relation over the rows of both tables."""
    stated = read_pairs(path, left, right)
    _say_notes(stated.notes)
    _say_contradictions(path, stated, left, right or left)
    offset = 0 if right is None else left.n_items
    n_items = left.n_items + (0 if right is None else right.n_items)
    with unsaid(RelationWarning):  # it knows the rows by numbers only
        return PairRelation(
            stated.left, stated.right + offset, stated.similar, n_items, stated.weight
        )


def _say_notes(notes: tuple[str, ...]) -> None:
    """Warn of what was not as usual when a file was read."""
    for note in notes:
        warn_user(note, RelationWarning)


def _say_contradictions(path: Path, stated: NamedPairs, left: Records, right: Records) -> None:
    """Warn of pairs that are stated both as alike and as not alike, by the names of their rows."""
    pairs = np.column_stack([stated.left, stated.right])
    if left is right:
        pairs.sort(axis=1)
    keys, alike = pairs[:, 0] * right.n_items + pairs[:, 1], stated.similar > 0.5
    both = np.intersect1d(keys[alike], keys[stated.similar < 0.5])
    if both.size:
        first = pairs[np.isin(keys, both)][0]
        warn_user(
            f"{path}: {both.size} pair(s) are stated both as alike and as not alike, first "
            f"{left.ids[first[0]]} and {right.ids[first[1]]}. Both statements are kept.",
            RelationWarning,
        )


def read_labels(records: Records, column: str) -> Any:
    """Return a column of classes, or of several labels per item as a 0/1 matrix.

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
