"""Sampled pairs: right for every item, uniform on the true sets, the same for the same seed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_sets import (
    class_vectors,
    multi_labels,
    partners_of,
    relation_of,
    sets_of_classes,
    slow_grade,
)
from scipy import stats

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation

GRADES = st.sampled_from(["overlap", "jaccard"])

MULTI_LABELS = [
    frozenset(labels)
    for labels in (
        [0], [0, 1], [0, 1, 2], [1], [2], [0, 1, 2], [3], [3], [2, 3], [4], [0], [0, 1, 3], [],
    )
]  # fmt: skip


def sample(relation, *args, **kwargs):
    """Return sampled pairs without the warning of items that have no partner."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return relation.sample_pairs(*args, **kwargs)


def assert_right(relation, sets, n_similar, n_dissimilar, seed):
    """Check every pair drawn, and their number for every item, against the definition."""
    alike = [partners_of(sets, item, True) for item in range(len(sets))]
    unalike = [partners_of(sets, item, False) for item in range(len(sets))]
    wanted = [
        (n_similar * bool(a), n_dissimilar * bool(b)) for a, b in zip(alike, unalike, strict=True)
    ]
    if not np.any(wanted):
        with pytest.raises(ValueError, match=r"No pair can be drawn|are both 0"):
            sample(relation, n_similar, n_dissimilar, seed)
        return
    pairs = sample(relation, n_similar, n_dissimilar, seed)
    found = np.zeros((len(sets), 2), dtype=int)
    for left, right, similar in zip(pairs.left, pairs.right, pairs.similar, strict=True):
        assert left != right
        assert right in (alike[left] if similar > 0 else unalike[left])
        assert similar == slow_grade(sets[left], sets[right], relation.grade)
        found[left, 0 if similar > 0 else 1] += 1
    np.testing.assert_array_equal(found, wanted)
    assert pairs.n_items == len(sets)
    assert pairs.weight is None


# Right for every item

N_DRAWS = st.sampled_from([0, 1, 3, 10])


@settings(deadline=None, max_examples=60)
@given(
    sets=multi_labels(),
    grade=GRADES,
    n_similar=N_DRAWS,
    n_dissimilar=N_DRAWS,
    seed=st.integers(0, 2**32),
)
def test_pairs_of_random_label_sets_are_right(sets, grade, n_similar, n_dissimilar, seed):
    assert_right(relation_of(sets, grade), sets, n_similar, n_dissimilar, seed)


@settings(deadline=None, max_examples=60)
@given(sets=multi_labels(max_items=6), seed=st.integers(0, 2**32))
def test_pairs_are_right_after_rejection_has_given_up(sets, seed):
    # 150 draws from at most 6 items fail more than the n_patterns + 64 times that are tried.
    assert_right(relation_of(sets), sets, 1, 150, seed)


@settings(deadline=None, max_examples=40)
@given(
    classes=class_vectors(),
    grade=GRADES,
    n_similar=N_DRAWS,
    n_dissimilar=N_DRAWS,
    seed=st.integers(0, 2**32),
)
def test_pairs_of_random_classes_are_right(classes, grade, n_similar, n_dissimilar, seed):
    relation = LabelRelation(classes, grade)
    assert_right(relation, sets_of_classes(classes), n_similar, n_dissimilar, seed)


def test_ten_of_each_kind_are_drawn_by_default():
    pairs = LabelRelation(np.arange(50) % 5).sample_pairs(random_state=0)
    assert np.bincount(pairs.left[pairs.similar == 1]).tolist() == [10] * 50
    assert np.bincount(pairs.left[pairs.similar == 0]).tolist() == [10] * 50


def test_two_holders_of_a_rare_label_among_thousands_find_each_other():
    matrix = np.zeros((4_000, 3), dtype=np.int8)
    matrix[:2_000, 0] = 1
    matrix[2_000:, 1] = 1
    matrix[[17, 3_333]] = [0, 0, 1]
    matrix[0] = [1, 1, 0]  # several labels, so that this is no partition
    pairs = LabelRelation(matrix).sample_pairs(10, 10, random_state=0)
    alike = pairs.similar == 1
    assert set(pairs.right[alike & (pairs.left == 17)]) == {3_333}
    assert set(pairs.right[alike & (pairs.left == 3_333)]) == {17}


def test_indicators_with_one_label_a_row_are_drawn_like_classes():
    classes = [0, 2, 0, 2, 2, 4]
    sets = sets_of_classes(classes)
    as_indicator = sample(relation_of(sets), 5, 5, random_state=3)
    as_classes = sample(LabelRelation(classes), 5, 5, random_state=3)
    assert as_indicator.right.tolist() == as_classes.right.tolist()


# What is said of items without a partner


def caught_in(relation, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relation.sample_pairs(*args, random_state=0)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_classes_of_one_item_are_counted_and_the_first_is_named():
    (message,) = caught_in(LabelRelation([0, 1, 0, 2, -1]))
    assert "2 of 5 items have no similar partner, first item 1" in message


def test_label_sets_without_a_partner_of_a_kind_are_counted_and_the_first_is_named():
    sets = [{0}, {0, 1}, {1}, {2}, {0, 1, 2}]
    similar_only = [*sets[:3], sets[3], frozenset({3})]
    (message,) = caught_in(relation_of(similar_only))
    assert "2 of 5 items have no similar partner, first item 3" in message
    (message,) = caught_in(relation_of(sets))
    assert "1 of 5 items have no dissimilar partner, first item 4" in message


def test_only_the_kind_asked_for_is_warned_about():
    assert not caught_in(LabelRelation([0, 1, 0, 2]), 0, 3)
    assert not caught_in(relation_of([{0}, {0, 1}, {1}]), 3, 0)


def test_rows_without_a_label_are_not_warned_about_again():
    assert not caught_in(relation_of([{0}, {0}, {1}, {1}, set()]))


# Bad input


def test_no_pairs_of_either_kind_is_refused():
    for relation in (LabelRelation([0, 1, 0]), relation_of([{0}, {0, 1}, {1}])):
        with pytest.raises(ValueError, match="n_similar and n_dissimilar are both 0"):
            relation.sample_pairs(0, 0)


def test_similar_pairs_of_items_that_have_none_are_refused():
    with (
        pytest.warns(RelationWarning, match="3 of 3 items have no similar partner"),
        pytest.raises(ValueError, match=r"No pair can be drawn.*n_similar=4, n_dissimilar=0"),
    ):
        LabelRelation(["a", "b", "c"]).sample_pairs(4, 0)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"n_similar": -1}, ValueError, "n_similar must be at least 0, got -1"),
        ({"n_dissimilar": -2}, ValueError, "n_dissimilar must be at least 0, got -2"),
        ({"n_similar": 2.0}, TypeError, "n_similar must be an integer, got 2.0"),
        ({"n_dissimilar": True}, TypeError, "n_dissimilar must be an integer, got True"),
        ({"random_state": -1}, ValueError, "random_state must be a non-negative .* got -1"),
        ({"random_state": "x"}, ValueError, "random_state must be .* got 'x'"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        LabelRelation([0, 1, 0, 1]).sample_pairs(**arguments)


# Uniform on the true sets


def counts_of_draws(relation, n_calls, n_similar, n_dissimilar, seed):
    """Return how often each partner was drawn, shape (2, n_items, n_items): alike, not alike."""
    counts = np.zeros((2, relation.n_items, relation.n_items), dtype=int)
    rng = np.random.default_rng(seed)
    for _ in range(n_calls):
        pairs = sample(relation, n_similar, n_dissimilar, rng)
        np.add.at(counts, ((pairs.similar == 0).astype(int), pairs.left, pairs.right), 1)
    return counts


def chance_of_such_counts(counts, sets, alike):
    """Return the p-value of a chi-square test, over all items, that the true set is met evenly."""
    statistic, freedom = 0.0, 0
    for item in range(len(sets)):
        observed = counts[item, partners_of(sets, item, alike)]
        assert observed.sum() == counts[item].sum()
        if observed.size > 1:
            expected = observed.sum() / observed.size
            assert expected > 20
            statistic += np.sum((observed - expected) ** 2 / expected)
            freedom += observed.size - 1
    assert freedom > 0
    return stats.chi2.sf(statistic, freedom)


CLASSES = [0, 1, 0, 1, 0, 2, -1, 2, 2, 2, 3, 0]


@pytest.mark.parametrize("alike", [True, False])
def test_draws_by_class_are_uniform(alike):
    counts = counts_of_draws(LabelRelation(CLASSES), 1, 4_000, 4_000, seed=5)
    chance = chance_of_such_counts(counts[0 if alike else 1], sets_of_classes(CLASSES), alike)
    assert 1e-3 < chance < 1 - 1e-3


def test_draws_of_similar_label_sets_are_uniform_however_many_labels_are_shared():
    counts = counts_of_draws(relation_of(MULTI_LABELS), 1, 4_000, 0, seed=6)
    assert 1e-3 < chance_of_such_counts(counts[0], MULTI_LABELS, True) < 1 - 1e-3


def test_draws_of_dissimilar_label_sets_by_rejection_are_uniform():
    # A few draws a call: rejection does not give up within one.
    counts = counts_of_draws(relation_of(MULTI_LABELS), 500, 0, 4, seed=7)
    assert 1e-3 < chance_of_such_counts(counts[1], MULTI_LABELS, False) < 1 - 1e-3


def test_draws_of_dissimilar_label_sets_from_the_list_are_uniform():
    # Many draws a call: after n_patterns + 64 failures all candidates are listed.
    counts = counts_of_draws(relation_of(MULTI_LABELS), 1, 0, 4_000, seed=8)
    assert 1e-3 < chance_of_such_counts(counts[1], MULTI_LABELS, False) < 1 - 1e-3


def test_draws_of_rows_without_a_label_from_the_list_are_uniform():
    # A row without a label is only ever rejected as itself: one draw in five.
    sets = [frozenset(), frozenset(), frozenset([0]), frozenset([1]), frozenset([0, 1])]
    counts = counts_of_draws(relation_of(sets), 1, 0, 4_000, seed=9)
    assert 1e-3 < chance_of_such_counts(counts[1], sets, False) < 1 - 1e-3


def test_the_few_that_lack_a_label_which_nearly_all_have_are_drawn_uniformly():
    # 7 dissimilar among 3,007: one try in 430 succeeds, so that they are listed at once.
    matrix = np.zeros((3_007, 4), dtype=np.int8)
    matrix[:, 0] = 1
    matrix[:1_000, 1] = 1
    few = np.array([5, 700, 1_500, 1_501, 2_000, 2_999, 3_006])
    matrix[few] = [[0, 0, 1, 0]] * 3 + [[0, 0, 1, 1]] * 2 + [[0, 0, 0, 1]] + [[0, 0, 0, 0]]
    with pytest.warns(RelationWarning, match="1 of 3007 rows"):
        relation = LabelRelation(matrix)
    pairs = relation.sample_pairs(0, 10, random_state=10)
    from_many = ~np.isin(pairs.left, few)
    assert np.count_nonzero(from_many) == 3_000 * 10
    drawn, times = np.unique(pairs.right[from_many], return_counts=True)
    assert drawn.tolist() == few.tolist()
    assert 1e-3 < stats.chisquare(times).pvalue < 1 - 1e-3


@pytest.mark.parametrize("alike", [True, False])
def test_one_draw_says_nothing_of_the_next(alike):
    relation = relation_of(MULTI_LABELS)
    pairs = sample(relation, 20_000 * alike, 20_000 * (not alike), random_state=11)
    drawn = np.searchsorted(partners_of(MULTI_LABELS, 0, alike), pairs.right[pairs.left == 0])
    together = np.zeros((drawn.max() + 1,) * 2)
    np.add.at(together, (drawn[:-1], drawn[1:]), 1)
    assert 1e-3 < stats.chi2_contingency(together).pvalue < 1 - 1e-3


def test_items_with_equal_labels_draw_each_for_itself():
    sets = [frozenset([0, 1])] * 2 + [frozenset([0])] * 40 + [frozenset([2])] * 40
    for kind in ((20, 0), (0, 20)):
        pairs = sample(relation_of(sets), *kind, random_state=12)
        first, second = pairs.right[pairs.left == 0], pairs.right[pairs.left == 1]
        assert np.count_nonzero(first == second) < 5


# Seeds


def random_multi_label_relation(n_items=600, n_labels=8):
    rng = np.random.default_rng(13)
    matrix = rng.random((n_items, n_labels)) < 0.25
    matrix[~matrix.any(axis=1), 0] = True
    return LabelRelation(matrix)


@pytest.mark.parametrize(
    "relation",
    [LabelRelation(np.arange(300) % 7), random_multi_label_relation()],
    ids=["classes", "label sets"],
)
def test_same_seed_same_pairs_and_another_seed_others(relation):
    first, again, other = (relation.sample_pairs(random_state=seed) for seed in (1, 1, 2))
    assert first.right.tobytes() == again.right.tobytes()
    assert first.left.tobytes() == again.left.tobytes()
    assert np.mean(first.right == other.right) < 0.2


def test_a_generator_moves_on_with_every_call():
    relation, rng = random_multi_label_relation(), np.random.default_rng(1)
    first, second = relation.sample_pairs(random_state=rng), relation.sample_pairs(random_state=rng)
    fresh = relation.sample_pairs(random_state=np.random.default_rng(1))
    assert first.right.tolist() == fresh.right.tolist()
    assert first.right.tolist() != second.right.tolist()


def test_sampling_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    random_multi_label_relation().sample_pairs(random_state=1)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
