"""Who is of one kind among some items: by their class, or by what is stated of pairs.

The metric step needs three things of a relation: rows of whole kinds to hold out, what varies
within kinds, and who is alike in a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from twofold.evaluation import split_classes
from twofold.relations import LabelRelation, PairRelation, is_classes

Rows = NDArray[np.int64]
FEW_OF_A_KIND = 8
"""Items of each class that a sample has at least, of as many classes as then fit."""
MOST_IN_A_BLOCK = 2000
"""Items between which all pairs are looked at, where there are no classes."""


class Kinds(Protocol):
    """The kinds of some items."""

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where there are only pairs."""

    def residuals(self, points: Tensor) -> tuple[Tensor, int]:
        """Return rows that vary as items of one kind do, and how many of them are free."""

    def means(self, points: Tensor) -> Tensor:
        """Return the mean of each class, shape (n_classes, n_directions)."""

    def mean_variance(self) -> float:
        """Return the variance of class means as estimates, as a share of that within kinds."""

    def blocks(self, device: str) -> tuple[Tensor, Tensor]:
        """Return who is alike, and of whom it is known, bool of shape (n_items, n_items)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassKinds:
    """One class for each item.

    Attributes
    ----------
    classes : ndarray of int64, shape (n_items,)
        From 0 on, without gaps.
    """

    classes: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    def residuals(self, points: Tensor) -> tuple[Tensor, int]:
        """Return points less the means of their classes."""
        classes = torch.from_numpy(self.classes).to(points.device)
        return points - self.means(points)[classes], len(classes) - self.n_classes

    def means(self, points: Tensor) -> Tensor:
        """Return the mean of each class."""
        classes = torch.from_numpy(self.classes).to(points.device)
        sums = torch.zeros(self.n_classes, points.shape[1], device=points.device)
        sums.index_add_(0, classes, points)
        return sums / torch.bincount(classes, minlength=self.n_classes)[:, None]

    def mean_variance(self) -> float:
        """Return the mean over classes of 1 / n items."""
        return float((1 / np.bincount(self.classes)).mean())

    def blocks(self, device: str) -> tuple[Tensor, Tensor]:
        """Return who shares a class; all pairs are known."""
        classes = torch.from_numpy(self.classes).to(device)
        known = ~torch.eye(len(classes), dtype=torch.bool, device=device)
        return (classes[:, None] == classes) & known, known


@dataclass(frozen=True, slots=True, eq=False)
class PairKinds:
    """Pairs of items that are alike, or not.

    Attributes
    ----------
    alike, known : ndarray of bool, shape (n_items, n_items)
        Symmetric; no item is paired with itself.
    """

    alike: NDArray[np.bool_]
    known: NDArray[np.bool_]

    @property
    def n_classes(self) -> int:
        """There are none."""
        return 0

    def residuals(self, points: Tensor) -> tuple[Tensor, int]:
        """Return differences of items that are alike, over √2."""
        left, right = (torch.from_numpy(rows) for rows in np.nonzero(np.triu(self.alike)))
        left, right = left.to(points.device), right.to(points.device)
        return (points[left] - points[right]) * 0.5**0.5, len(left)

    def means(self, points: Tensor) -> Tensor:
        """Return nothing."""
        return points[:0]

    def mean_variance(self) -> float:
        """There are no means."""
        return 0.0

    def blocks(self, device: str) -> tuple[Tensor, Tensor]:
        """Return who is alike, and of whom it is known."""
        return torch.from_numpy(self.alike).to(device), torch.from_numpy(self.known).to(device)


def kinds_of(relation: LabelRelation | PairRelation, rows: Rows) -> Kinds:
    """Return the kinds of some items that a relation knows of."""
    if is_classes(relation):
        classes = np.unique(kind_codes(relation)[rows], return_inverse=True)[1]
        return ClassKinds(classes.reshape(-1).astype(np.int64))
    if isinstance(relation, LabelRelation):
        known = ~np.eye(len(rows), dtype=bool)
        return PairKinds((relation.similarity(rows, rows) > 0) & known, known)
    new_number = np.full(relation.n_items, -1)
    new_number[rows] = np.arange(len(rows))
    left, right = new_number[relation.left], new_number[relation.right]
    is_among = (left >= 0) & (right >= 0)
    left, right, similar = left[is_among], right[is_among], relation.similar[is_among]
    alike = np.zeros((len(rows), len(rows)), dtype=bool)
    known = alike.copy()
    for ends in ((left, right), (right, left)):
        alike[ends], known[ends] = similar > 0.5, True
    return PairKinds(alike, known)


def kind_codes(relation: LabelRelation | PairRelation) -> NDArray[np.int64]:
    """Return each item's class, or the group that chains of alike pairs link; -1 if unknown."""
    if isinstance(relation, LabelRelation):
        return relation.class_codes()
    is_alike = relation.similar > 0.5
    ends = (relation.left[is_alike], relation.right[is_alike])
    shape = (relation.n_items, relation.n_items)
    links = sparse.coo_array((np.ones(len(ends[0])), ends), shape=shape)
    groups = connected_components(links, directed=False)[1].astype(np.int64)
    return np.where(relation.linked, groups, -1)


def hold_out_kinds(
    relation: LabelRelation | PairRelation, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return rows to learn from, and rows of the classes, labels or groups that are held out.

    Items that have both, or of which nothing is known, are in neither.
    """
    if isinstance(relation, LabelRelation) and not is_classes(relation):
        return split_classes(relation.indicator, share, rng)
    return split_classes(kind_codes(relation), share, rng)


def n_kinds(relation: LabelRelation | PairRelation, rows: Rows) -> int:
    """Return how many classes, labels or groups some items are of."""
    if isinstance(relation, LabelRelation):
        return len(np.unique(relation.indicator[rows].indices))
    groups = kind_codes(relation)[rows]
    return len(np.unique(groups[groups >= 0]))


def known_rows(relation: LabelRelation | PairRelation) -> Rows:
    """Return the items of which something is known."""
    is_known = relation.known if isinstance(relation, LabelRelation) else relation.linked
    return np.flatnonzero(is_known)


def thin_rows(relation: LabelRelation | PairRelation, most: int, rng: np.random.Generator) -> Rows:
    """Return about `most` of the items, or all if they are fewer, in one pass over them.

    Large classes are thinned; of small ones some are taken whole.
    """
    rows = known_rows(relation)
    if len(rows) <= most or not isinstance(relation, LabelRelation):
        return rows
    share = most / len(rows)
    if most >= FEW_OF_A_KIND * relation.n_labels or not relation.is_partition:
        return np.asarray(rows[rng.random(len(rows)) < share])
    is_taken = rng.random(relation.n_labels) < share
    return np.asarray(rows[is_taken[relation.indicator.indices]])


def sample_rows(
    relation: LabelRelation | PairRelation, rows: Rows, most: int, rng: np.random.Generator
) -> Rows:
    """Return some of the rows: as many of each kind, but a few at least, as there is room for."""
    if not is_classes(relation):
        most = min(most, MOST_IN_A_BLOCK)
    if len(rows) <= most:
        return rows
    rows = rng.permutation(rows)
    if not isinstance(relation, LabelRelation) or is_classes(relation):
        rows = _a_few_each(rows, kind_codes(relation)[rows], most, rng)
    return np.sort(rows[:most])


def _a_few_each(rows: Rows, kinds: NDArray[np.int64], most: int, rng: np.random.Generator) -> Rows:
    """Return rows kind by kind, kinds in random order."""
    _, kind, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    rank = rng.permutation(len(counts))
    order = np.argsort(rank[kind.reshape(-1)], kind="stable")
    counts = counts[np.argsort(rank)]
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_room = place < max(FEW_OF_A_KIND, -(-most // len(counts)))
    return rows[order][is_room]
