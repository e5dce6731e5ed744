"""Triplets out of pairs, for networks that learn from comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.relations import PairRelation, TripletRelation


def triplets_from_pairs(relation: PairRelation, rng: np.random.Generator) -> TripletRelation:
    """Give every similar pair one item that is not alike to its first, or else its second, item.

    Pairs neither of whose items is known to be unlike anything are left out.
    """
    alike, unalike = relation.similar > 0.5, relation.similar < 0.5
    anchor = np.concatenate([relation.left[unalike], relation.right[unalike]])
    partner = np.concatenate([relation.right[unalike], relation.left[unalike]])
    partner = partner[np.argsort(anchor, kind="stable")]
    n_partners = np.bincount(anchor, minlength=relation.n_items)
    first = np.cumsum(n_partners) - n_partners

    left, right = relation.left[alike], relation.right[alike]
    turned = n_partners[left] == 0
    anchor, positive = np.where(turned, right, left), np.where(turned, left, right)
    # A pair stated both ways could name its positive as its own negative.
    usable = n_partners[anchor] > 0
    anchor, positive = anchor[usable], positive[usable]
    chosen = first[anchor] + rng.integers(n_partners[anchor]) if anchor.size else anchor
    negative = partner[chosen]
    differs = negative != positive
    if not differs.any():
        raise ValueError(
            "No triplet can be formed: no item is stated to be alike to one item and not alike "
            "to another."
        )
    return TripletRelation(anchor[differs], positive[differs], negative[differs], relation.n_items)


def part_triplets(
    relation: TripletRelation, held_out: float, rng: np.random.Generator
) -> tuple[TripletRelation, TripletRelation]:
    """Part triplets at random into those kept and those held out."""
    if relation.n_triplets < 2:
        raise ValueError(
            "A single triplet cannot be split into training and validation: set "
            "validation_fraction=0."
        )
    order = rng.permutation(relation.n_triplets)
    n_out = min(max(1, round(held_out * relation.n_triplets)), relation.n_triplets - 1)

    def rows(chosen: NDArray[np.int64]) -> TripletRelation:
        return TripletRelation(
            relation.anchor[chosen],
            relation.positive[chosen],
            relation.negative[chosen],
            relation.n_items,
        )

    return rows(np.sort(order[n_out:])), rows(np.sort(order[:n_out]))
