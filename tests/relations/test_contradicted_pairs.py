"""Pairs that are stated both as alike and as not alike, beside a slow count of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from twofold import PairRelation
from twofold.relations import _pair_checks


@pytest.mark.parametrize("n_items", [4, 30, 300])
def test_contradictions_are_counted_and_the_first_is_named(monkeypatch, n_items):
    monkeypatch.setattr(_pair_checks, "BLOCK", 7)
    rng = np.random.default_rng(n_items)
    for n_pairs in (1, 5, 60, 400):
        left = rng.integers(n_items, size=n_pairs)
        right = (left + rng.integers(1, n_items, size=n_pairs)) % n_items
        similar = rng.choice([0.0, 0.2, 0.5, 1.0], size=n_pairs)
        sides: dict[frozenset[int], set[bool]] = {}
        statements = list(zip(left.tolist(), right.tolist(), similar.tolist(), strict=True))
        for a, b, grade in statements:
            if grade != 0.5:
                sides.setdefault(frozenset((a, b)), set()).add(grade > 0.5)
        both = [pair for pair, said in sides.items() if len(said) == 2]
        rows = [
            row
            for row, (a, b, grade) in enumerate(statements)
            if frozenset((a, b)) in both and grade != 0.5
        ]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            PairRelation(left, right, similar, n_items)
        words = [str(one.message) for one in said]
        if not both:
            assert not words
        else:
            assert words[0].startswith(f"{len(both)} pair(s) are stated both")
            assert f"(row {rows[0]})" in words[0]
