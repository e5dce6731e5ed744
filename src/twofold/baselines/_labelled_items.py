"""Items with their labels: what rivals that learn from labels are trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.regression import part_examples
from twofold.relations import LabelRelation


@dataclass(frozen=True, slots=True, eq=False)
class LabelledItems:
    """Some items, each with its class or its labels.

    Attributes
    ----------
    items : ndarray of int64, shape (n,)
        Item indices.
    labels : ndarray of int64, shape (n,), or of bool, shape (n, n_labels)
        Class numbers where every item has exactly one label, else the indicator matrix; this is
        dense, a byte a number.
    """

    items: NDArray[np.int64]
    labels: NDArray[np.int64] | NDArray[np.bool_]

    @classmethod
    def of(cls, relation: LabelRelation) -> LabelledItems:
        """Return all items whose labels are known."""
        items = np.flatnonzero(relation.known)
        if relation.is_partition:
            return cls(items, relation.class_codes()[items])
        return cls(items, relation.indicator.astype(bool).toarray())

    def part(
        self, validation_fraction: float, rng: np.random.Generator
    ) -> tuple[LabelledItems, LabelledItems]:
        """Part at random into items to train on and items to validate on.

        Those to validate on are in random order: they are seen a part at a time as they stand, and
        data that are sorted by class would make each part one class.
        """
        train, held_out = part_examples(len(self.items), validation_fraction, rng)
        return self._take(train), self._take(rng.permutation(held_out))

    def _take(self, places: NDArray[np.int64]) -> LabelledItems:
        return LabelledItems(self.items[places], self.labels[places])
