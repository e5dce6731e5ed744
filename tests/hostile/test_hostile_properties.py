"""Whatever is drawn: a relation that is sound, or a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twofold.datasets import load_pairs, load_table
from twofold.relations import PairRelation, TripletRelation, diagnose

SENTENCES = (ValueError, TypeError)
FEW = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)  # fmt: skip


def or_sentence(call, *arguments):
    """Return what a call gives, None if it refuses in a sentence of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*arguments)
    except SENTENCES as error:
        refusal = error
    assert type(refusal) in SENTENCES
    assert str(refusal).endswith(".")
    assert "\n" not in str(refusal)
    return None


def assert_sound(relation: PairRelation) -> None:
    for ids in (relation.left, relation.right):
        assert not ids.size or (ids.min() >= 0 and ids.max() < relation.n_items)
        assert not ids.flags.writeable
    assert (relation.left != relation.right).all()
    assert ((relation.similar >= 0) & (relation.similar <= 1)).all()
    assert relation.weight is None or np.isfinite(relation.weight).all()
    diagnose(relation)


@FEW
@given(strategies.statements(strategies.odd_ids, strategies.odd_numbers))
def test_odd_statements_are_a_sound_relation_or_a_sentence(drawn):
    left, right, similar, weight = drawn
    relation = or_sentence(PairRelation, left, right, similar, strategies.N_ITEMS, weight)
    if relation is not None:
        assert_sound(relation)


@FEW
@given(strategies.statements(), st.sampled_from([np.int8, np.uint16, np.int32, np.uint64, float]))
def test_ids_of_any_type_are_the_same_relation(drawn, dtype):
    left, right, similar, _ = drawn
    wanted = or_sentence(PairRelation, left, right, similar, strategies.N_ITEMS)
    arrays = (np.array(left, dtype), np.array(right, dtype), np.array(similar))
    found = or_sentence(PairRelation, *arrays, strategies.N_ITEMS)
    if dtype is float:
        assert found is None
    elif wanted is not None:
        assert found.left.tolist() == wanted.left.tolist()
        assert_sound(found)


@FEW
@given(strategies.statements(strategies.odd_ids))
def test_odd_triplets_are_sound_or_a_sentence(drawn):
    anchor, positive, _, _ = drawn
    relation = or_sentence(TripletRelation, anchor, positive, positive[::-1], strategies.N_ITEMS)
    assert relation is None or relation.anchor.max() < strategies.N_ITEMS


@FEW
@given(text=strategies.tables(), suffix=st.sampled_from([".csv", ".tsv"]))
def test_any_text_is_pairs_or_a_sentence(tmp_path, text, suffix):
    path = tmp_path / f"pairs{suffix}"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    pairs = or_sentence(load_pairs, path)
    if pairs is not None:
        assert np.isfinite(pairs.similar).all()
        assert max(pairs.left.max(), pairs.right.max()) < pairs.n_items
        assert all(key == key.strip() for key in pairs.keys if isinstance(key, str))


@FEW
@given(text=strategies.tables())
def test_any_text_is_a_table_or_a_sentence(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    table = or_sentence(load_table, path)
    assert table is None or np.isfinite(table.features).all()
