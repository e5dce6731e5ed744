"""Labels that imply a whole relation: items are alike if they have a label in common.

Classes and multi-label indicator matrices become one sparse indicator; nothing here ever builds
the n × n relation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from twofold._core.checks import check_choice, check_count, check_equal_lengths, check_item_ids
from twofold._core.classes import is_matrix
from twofold._core.limits import refuse_beyond_memory
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import RelationWarning, warn_user
from twofold.relations._class_sampling import sample_class_partners
from twofold.relations._indicator import encode_classes, encode_indicator
from twofold.relations._label_sampling import has_dissimilar_partner, sample_label_partners
from twofold.relations._pairs import PairRelation
from twofold.relations._patterns import LabelPatterns, find_patterns
from twofold.relations._renumbering import taken_items

PAIR_BYTES = 60
"""Of memory for a sampled pair, while the relation of all of them is made."""
Grade = Literal["overlap", "jaccard"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelRelation:
    """The relation that labels imply: items are alike if they share at least one label.

    Parameters
    ----------
    labels : array_like of shape (n_items,), or array or sparse matrix of shape (n_items, n_labels)
        Classes of any dtype, where -1, NaN or None means that the class is unknown; or a 0/1
        indicator matrix. An item whose class is unknown is in no pair. A row of an indicator matrix
        without any label is not alike to any item, and a warning says so.
    grade : {"overlap", "jaccard"}
        "overlap": 1 if a label is shared, else 0. "jaccard": the number of shared labels over the
        number of all labels of the two items. For classes both are the same.

    Attributes
    ----------
    labels : ndarray or csr_array
        The classes, or the indicator matrix, as a copy.
    indicator : csr_array of float32, shape (n_items, n_labels)
        One row per item, with ones at its labels.
    known : ndarray of bool, shape (n_items,)
        Whether the item's labels are known.

    Examples
    --------
    >>> LabelRelation(["cat", "dog", "cat", None])
    LabelRelation(4 items, 2 classes, 1 unknown)
    """

    labels: Any
    grade: Grade = "overlap"
    indicator: sparse.csr_array = field(init=False)
    known: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        check_choice("grade", self.grade, get_args(Grade))
        if is_matrix(self.labels):
            indicator = encode_indicator(self.labels)
            known = np.ones(indicator.shape[0], dtype=bool)
            labels = indicator
        else:
            labels, indicator, known = encode_classes(self.labels)
            labels.flags.writeable = False
        for array in (known, indicator.data, indicator.indices, indicator.indptr):
            array.flags.writeable = False
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "indicator", indicator)
        object.__setattr__(self, "known", known)
        _refuse_no_dissimilar_pair(indicator, known)
        if self.n_empty:
            warn_user(
                f"{self.n_empty} of {self.n_items} rows have no label, first row "
                f"{np.flatnonzero(self._is_empty)[0]}: they are not alike to any item.",
                RelationWarning,
            )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.indicator.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of classes or labels."""
        return int(self.indicator.shape[1])

    @property
    def n_occurring(self) -> int:
        """Number of classes or labels that at least one item has."""
        return int(np.count_nonzero(np.bincount(self.indicator.indices)))

    @property
    def n_unknown(self) -> int:
        """Number of items whose class is unknown."""
        return int(np.count_nonzero(~self.known))

    @property
    def n_empty(self) -> int:
        """Number of items that are known to have no label, and so are not alike to any item."""
        return int(np.count_nonzero(self._is_empty))

    @property
    def is_partition(self) -> bool:
        """Whether every known item has exactly one label, so that being alike is transitive."""
        return bool(np.all(np.diff(self.indicator.indptr)[self.known] == 1))

    @property
    def has_similar(self) -> NDArray[np.bool_]:
        """Which items have at least one similar partner, shape (n_items,)."""
        label_counts = np.diff(self.indicator.tocsc().indptr)
        shared = (label_counts > 1).astype(np.float32)
        return np.asarray(self.indicator @ shared > 0)

    @property
    def has_dissimilar(self) -> NDArray[np.bool_]:
        """Which items have at least one dissimilar partner, shape (n_items,)."""
        if self.is_partition:
            return self.known.copy()  # the constructor saw to a second class
        return has_dissimilar_partner(self.patterns())

    def similarity(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float32]:
        """Return the block of the relation between `rows` and `columns`.

        Parameters
        ----------
        rows, columns : array_like of int
            Item indices.

        Returns
        -------
        block : ndarray of float32, shape (n_rows, n_columns)
            1 for alike, 0 for not alike, a grade in between, NaN where an item is unknown.
        """
        rows = check_item_ids("rows", rows, self.n_items)
        columns = check_item_ids("columns", columns, self.n_items)
        left, right = self.indicator[rows], self.indicator[columns]
        shared = (left @ right.T).toarray()
        block = _graded(shared, left.sum(axis=1)[:, None], right.sum(axis=1)[None], self.grade)
        block[~self.known[rows]] = np.nan
        block[:, ~self.known[columns]] = np.nan
        return block

    def pairs(self, left: ArrayLike, right: ArrayLike) -> PairRelation:
        """Return what the labels say about the pairs (left[k], right[k]).

        Parameters
        ----------
        left, right : array_like of int, shape (n_pairs,)
            Item indices; pairs with an unknown item are an error.
        """
        left = check_item_ids("left", left, self.n_items)
        right = check_item_ids("right", right, self.n_items)
        check_equal_lengths(left=left, right=right)
        unknown = np.flatnonzero(~(self.known[left] & self.known[right]))
        if unknown.size:
            row = unknown[0]
            raise ValueError(
                f"{unknown.size} pair(s) have an item of unknown class, first at row {row} "
                f"(items {left[row]} and {right[row]}). Leave out items that are not `known`."
            )
        return PairRelation(left, right, self._pair_grades(left, right), self.n_items)

    def sample_pairs(
        self,
        n_similar: int = 10,
        n_dissimilar: int = 10,
        random_state: RandomState = None,
    ) -> PairRelation:
        """Draw similar and dissimilar partners for every item, as in the paper's protocol.

        Each partner is drawn independently and uniformly from all items that are similar (or
        dissimilar) to the item, so a partner may be drawn more than once if there are few. An item
        without any partner of a kind gets none of it: see `has_similar` and `has_dissimilar`.

        Parameters
        ----------
        n_similar, n_dissimilar : int
            Number of partners of each kind per item.
        random_state : int, Generator or None
            Seed; the same seed gives the same pairs.
        """
        n_similar = check_count("n_similar", n_similar, minimum=0)
        n_dissimilar = check_count("n_dissimilar", n_dissimilar, minimum=0)
        if n_similar + n_dissimilar == 0:
            raise ValueError("n_similar and n_dissimilar are both 0: ask for at least one partner.")
        refuse_beyond_memory(
            f"{n_similar + n_dissimilar} partners for each of {self.n_items} items",
            PAIR_BYTES * (n_similar + n_dissimilar) * self.n_items,
            "Ask for fewer: the usual number is 10 of each kind.",
        )
        rng = as_generator(random_state)
        if self.is_partition:
            partners = sample_class_partners(self.class_codes(), n_similar, n_dissimilar, rng)
        else:
            partners = sample_label_partners(
                self.indicator, self.patterns(), n_similar, n_dissimilar, rng
            )
        self._warn_of_lonely_items(partners, n_similar, n_dissimilar)
        drawn = partners >= 0
        if not drawn.any():
            raise ValueError(
                "No pair can be drawn: no item has a partner "
                f"(n_similar={n_similar}, n_dissimilar={n_dissimilar})."
            )
        left = np.repeat(np.arange(self.n_items), drawn.sum(axis=1))
        right = partners[drawn]
        is_similar = np.broadcast_to(np.arange(partners.shape[1]) < n_similar, drawn.shape)[drawn]
        similar = is_similar.astype(np.float32)
        if self.grade == "jaccard" and not self.is_partition:
            similar[is_similar] = self._pair_grades(left[is_similar], right[is_similar])
        return PairRelation(left, right, similar, self.n_items)

    def take(self, items: ArrayLike) -> LabelRelation:
        """Restrict to `items` (indices or a mask) and renumber: `items[k]` becomes item k."""
        return LabelRelation(self.labels[taken_items(items, self.n_items)], self.grade)

    def class_codes(self) -> NDArray[np.int64]:
        """Return the class of every item as a number 0 .. n_labels - 1, -1 if unknown."""
        if not self.is_partition:
            raise ValueError("Items with several labels, or none, have no class.")
        codes = np.full(self.n_items, -1, dtype=np.int64)
        codes[self.known] = self.indicator.indices
        return codes

    def patterns(self) -> LabelPatterns:
        """Return the distinct label vectors, how often each occurs, and each item's."""
        return find_patterns(self.indicator, self.known)

    @property
    def _is_empty(self) -> NDArray[np.bool_]:
        return np.asarray(self.known & (np.diff(self.indicator.indptr) == 0))

    def _pair_grades(
        self, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        rows, others = self.indicator[left], self.indicator[right]
        shared = np.asarray(rows.multiply(others).sum(axis=1), dtype=np.float32)
        return _graded(shared, rows.sum(axis=1), others.sum(axis=1), self.grade)

    def _warn_of_lonely_items(
        self, partners: NDArray[np.int64], n_similar: int, n_dissimilar: int
    ) -> None:
        # Rows without a label were said by the constructor.
        labelled = self.known & ~self._is_empty
        for kind, wanted, column in (
            ("similar", n_similar, 0),
            ("dissimilar", n_dissimilar, n_similar),
        ):
            if not wanted:
                continue
            lonely = np.flatnonzero(labelled & (partners[:, column] < 0))
            if lonely.size:
                warn_user(
                    f"{lonely.size} of {self.n_items} items have no {kind} partner, first item "
                    f"{lonely[0]}: they get no {kind} pair.",
                    RelationWarning,
                )

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        kind = "classes" if self.is_partition else "labels"
        facts = [f"{self.n_items:,} items", f"{self.n_labels:,} {kind}"]
        facts += [f"{self.n_unknown:,} unknown"] if self.n_unknown else []
        facts += [f"{self.n_empty:,} without a label"] if self.n_empty else []
        facts += [f"grade={self.grade!r}"] if self.grade != "overlap" else []
        return f"LabelRelation({', '.join(facts)})"


def _graded(
    shared: NDArray[np.float32],
    n_left: NDArray[np.float32],
    n_right: NDArray[np.float32],
    grade: Grade,
) -> NDArray[np.float32]:
    """Turn numbers of shared labels into grades."""
    if grade == "overlap":
        return (shared > 0).astype(np.float32)
    return np.asarray(shared / np.maximum(n_left + n_right - shared, 1), dtype=np.float32)


def _refuse_no_dissimilar_pair(indicator: sparse.csr_array, known: NDArray[np.bool_]) -> None:
    """Refuse a label that every known item has: then no two items are dissimilar."""
    n_known = np.count_nonzero(known)
    everywhere = np.flatnonzero(np.diff(indicator.tocsc().indptr) == n_known)
    if everywhere.size:
        raise ValueError(
            f"All {n_known} items with known labels have a label in common (number "
            f"{everywhere[0]}), so that there are no dissimilar pairs and there is nothing to "
            "learn. Add items of a second class, or drop the label that all items have."
        )
