"""Triplets out of pairs: every one is stated, and none that could be made is lost."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold import PairRelation, RelationWarning, TripletRelation
from twofold.baselines._triplets import part_triplets, triplets_from_pairs

ITEMS = st.integers(0, 6)
STATEMENTS = st.lists(
    st.tuples(ITEMS, ITEMS, st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])).filter(
        lambda row: row[0] != row[1]
    ),
    min_size=1,
    max_size=20,
)


def as_relation(rows) -> PairRelation:
    left, right, similar = zip(*rows, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return PairRelation(left, right, similar, 7)


def made_or_none(relation: PairRelation, seed: int) -> TripletRelation | None:
    try:
        return triplets_from_pairs(relation, np.random.default_rng(seed))
    except ValueError:
        return None


@settings(deadline=None, max_examples=200)
@given(rows=STATEMENTS, seed=st.integers(0, 3))
def test_every_triplet_is_stated_and_every_usable_pair_gives_one(rows, seed):
    alike = [(a, b) for a, b, y in rows if y > 0.5]
    unalike = {frozenset((a, b)) for a, b, y in rows if y < 0.5}
    contradicted = {frozenset(pair) for pair in alike} & unalike
    unlike = {
        item: [other for other in range(7) if frozenset((item, other)) in unalike]
        for item in range(7)
    }
    usable = [pair for pair in alike if unlike[pair[0]] or unlike[pair[1]]]
    sure = [pair for pair in usable if frozenset(pair) not in contradicted]
    found = made_or_none(as_relation(rows), seed)
    if found is None:
        assert not sure
        return
    stated = {frozenset(pair) for pair in alike}
    for a, p, n in zip(found.anchor, found.positive, found.negative, strict=True):
        assert frozenset((int(a), int(p))) in stated
        assert frozenset((int(a), int(n))) in unalike
        assert len({a, p, n}) == 3
    assert len(sure) <= found.n_triplets <= len(usable)
    assert found.n_items == 7


def test_the_first_item_of_a_pair_is_the_anchor_unless_nothing_is_unlike_it():
    relation = as_relation([(0, 1, 1.0), (0, 2, 0.0), (3, 4, 1.0), (4, 5, 0.0)])
    found = triplets_from_pairs(relation, np.random.default_rng(0))
    rows = list(zip(found.anchor, found.positive, found.negative, strict=True))
    assert rows == [(0, 1, 2), (4, 3, 5)]


def test_negatives_are_drawn_from_all_that_are_unlike():
    rows = [(0, 1, 1.0)] * 60 + [(0, 2, 0.0), (3, 0, 0.0), (0, 4, 0.0), (5, 6, 0.0)]
    found = triplets_from_pairs(as_relation(rows), np.random.default_rng(0))
    assert set(found.negative.tolist()) == {2, 3, 4}
    assert found.n_triplets == 60


def test_pairs_that_make_no_triplet_are_refused():
    with pytest.raises(
        ValueError, match="No triplet can be formed: no item is stated to be alike to one"
    ):
        triplets_from_pairs(as_relation([(0, 1, 1.0), (2, 3, 0.0)]), np.random.default_rng(0))


def some_triplets(n_triplets: int = 20) -> TripletRelation:
    start = np.arange(n_triplets)
    return TripletRelation(start, start + 1, start + 2, n_triplets + 2)


@pytest.mark.parametrize(("share", "n_out"), [(0.25, 5), (0.001, 1), (0.999, 19)])
def test_triplets_are_parted_without_loss(share, n_out):
    kept, out = part_triplets(some_triplets(), share, np.random.default_rng(0))
    assert out.n_triplets == n_out
    assert sorted([*kept.anchor, *out.anchor]) == list(range(20))
    for part in (kept, out):
        np.testing.assert_array_equal(part.positive, part.anchor + 1)
        np.testing.assert_array_equal(part.negative, part.anchor + 2)
        assert part.n_items == 22


def test_triplets_are_parted_at_random():
    outs = [part_triplets(some_triplets(), 0.5, np.random.default_rng(k))[1].anchor for k in (0, 1)]
    assert outs[0].tolist() != outs[1].tolist()
    assert outs[0].tolist() != list(range(10))


def test_one_triplet_cannot_be_parted_and_the_sentence_says_so():
    with pytest.raises(ValueError, match="A single triplet") as caught:
        part_triplets(some_triplets(1), 0.5, np.random.default_rng(0))
    assert "validation" in str(caught.value)
