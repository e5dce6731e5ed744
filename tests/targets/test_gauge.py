"""Whether pairs decide their relation: cross-validated targets, the gauge and its curve."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.relations import LabelRelation, PairRelation, TooFewPairsError, split_folds
from twofold.targets import (
    Gauge,
    GaugePoint,
    cross_validated_similarity,
    gauge_targets,
    pairs_decide,
    solve_targets,
)
from twofold.targets._cross_validation import HeldOutScorer

CLASSES = load_digits().target


@pytest.fixture(scope="module")
def many():
    """20 pairs an item: enough to know all others."""
    return LabelRelation(CLASSES[:600]).sample_pairs(10, 10, random_state=0)


@pytest.fixture(scope="module")
def gauge_of_many(many):
    return gauge_targets(many, random_state=0)


@pytest.fixture(scope="module")
def few():
    """One pair an item."""
    pairs = LabelRelation(CLASSES[:600]).sample_pairs(1, 1, random_state=0)
    return pairs.take_pairs(np.random.default_rng(0).permutation(pairs.n_pairs)[:600])


def gauge_with(*points, error=0.005):
    """Return a gauge whose curve has the points (pairs, AUROC), each with that standard error."""
    curve = tuple(GaugePoint(n, auroc, error) for n, auroc in points)
    return Gauge(
        auroc=curve[-1].auroc,
        standard_error=error,
        n_folds=5,
        n_undecided=0,
        curve=curve,
        similarity=np.zeros(1, np.float32),
        seconds=0.1,
    )


# Cross-validated similarity


@pytest.mark.parametrize("loss", ["contrastive", "dot"])
def test_a_fold_s_similarity_is_that_of_targets_solved_without_it(many, loss):
    similarity = cross_validated_similarity(many, n_components=8, loss=loss, random_state=3)
    rng = np.random.default_rng(3)
    for fold in split_folds(many, 5, rng):
        points = solve_targets(fold.kept, 8, loss=loss, device="cpu", random_state=rng).points
        left, right = many.left[fold.held_out], many.right[fold.held_out]
        metric = "dot" if loss == "dot" else "euclidean"
        expected = pair_similarity(points, left, right, metric)
        np.testing.assert_allclose(similarity[fold.held_out], expected, atol=1e-4)


def test_pairs_that_nothing_else_bears_on_get_a_value_in_the_middle():
    # Pairs of two that no other statement touches, beside a clear relation.
    clear = LabelRelation([0, 1] * 30).sample_pairs(random_state=0)
    lonely = PairRelation(np.arange(60, 80, 2), np.arange(61, 80, 2), [1, 0] * 5, n_items=80)
    pairs = clear.merge(lonely)
    similarity = cross_validated_similarity(pairs, random_state=0)
    assert np.unique(similarity[-10:]).size == 1
    alike, unalike = (np.median(similarity[:-10][clear.similar == kind]) for kind in (1, 0))
    assert unalike < similarity[-1] < alike
    assert gauge_targets(pairs, random_state=0).n_undecided == 10


def test_progress_is_told_after_every_fold(many):
    told = []
    cross_validated_similarity(many, n_folds=4, random_state=0, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


# The gauge


def test_many_pairs_decide_and_few_do_not(gauge_of_many, few):
    assert gauge_of_many.decides
    gauge = gauge_targets(few, random_state=0)
    assert not gauge.decides
    assert gauge.auroc < 0.65
    assert gauge.n_undecided > 100


def test_pairs_decide_where_the_gauge_says_so(many, few):
    between = many.take_pairs(np.random.default_rng(0).permutation(many.n_pairs)[:2500])
    for pairs in (many, few, between):
        for seed in range(2):
            gauge = gauge_targets(pairs, random_state=seed)
            assert pairs_decide(pairs, random_state=seed) == gauge.decides


def test_no_more_folds_are_solved_than_it_takes_to_say_no(few, monkeypatch):
    solved = []
    score = HeldOutScorer.score
    monkeypatch.setattr(HeldOutScorer, "score", lambda *given: solved.append(None) or score(*given))
    assert not pairs_decide(few, random_state=0)
    assert len(solved) <= 2  # of five: an AUROC of .5 twice leaves no more than .8


def test_the_gauge_s_similarity_and_auroc_belong_together(many, gauge_of_many):
    gauge = gauge_of_many
    expected = cross_validated_similarity(many, random_state=0)
    np.testing.assert_allclose(gauge.similarity, expected, atol=1e-4)
    assert gauge.auroc == pytest.approx(pair_auroc(many.similar, gauge.similarity), abs=0.01)
    assert gauge.curve[-1].auroc == gauge.auroc


def test_the_gauge_is_the_mean_over_folds_with_its_standard_error():
    pairs = LabelRelation(CLASSES[:300]).sample_pairs(2, 2, random_state=0)
    gauge = gauge_targets(pairs, random_state=0)
    assert gauge.n_undecided == 0
    aurocs = [
        pair_auroc(pairs.similar[fold.held_out], gauge.similarity[fold.held_out])
        for fold in split_folds(pairs, 5, np.random.default_rng(0))
    ]
    assert np.std(aurocs) > 0.005
    assert gauge.auroc == pytest.approx(np.mean(aurocs))
    assert gauge.standard_error == pytest.approx(stats.sem(aurocs))


def test_the_curve_rises_from_an_eighth_of_the_pairs_to_all(many, gauge_of_many):
    gauge = gauge_of_many
    sizes = [point.n_pairs for point in gauge.curve]
    whole = round(0.8 * many.n_pairs)
    assert sizes == pytest.approx([whole / 8, whole / 4, whole / 2, whole], abs=30)
    aurocs = [point.auroc for point in gauge.curve]
    assert aurocs[0] < 0.9 < aurocs[-1]
    assert aurocs[0] < aurocs[1] < aurocs[-1]


def test_random_statements_are_told_from_a_relation():
    rng = np.random.default_rng(0)
    left, right = np.triu_indices(120, k=1)
    relation = PairRelation(left, right, rng.integers(2, size=left.size), n_items=120)
    gauge = gauge_targets(relation, random_state=0)
    assert gauge.auroc == pytest.approx(0.5, abs=0.05)
    assert not gauge.decides
    assert gauge.n_needed is None


def test_grades_count_as_the_kind_that_they_are_nearer_to(many):
    graded = PairRelation(many.left, many.right, 0.2 + 0.6 * many.similar, many.n_items)
    assert gauge_targets(graded, random_state=0).auroc > 0.95


def test_the_same_seed_gives_the_same_gauge(few):
    first, second = (gauge_targets(few, random_state=5) for _ in range(2))
    assert first.curve == second.curve
    assert (first.similarity == second.similarity).all()


def test_statements_of_one_kind_cannot_be_gauged():
    relation = PairRelation(np.arange(9), np.arange(1, 10), np.ones(9), n_items=10)
    with pytest.raises(TooFewPairsError, match="0 are not alike"):
        gauge_targets(relation)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"loss": "cosine"}, "loss must be one of"),
    ],
)
def test_wrong_parameters_are_named(many, wrong, message):
    with pytest.raises(ValueError, match=message):
        gauge_targets(many, **wrong)


# How many pairs it takes


def test_the_number_needed_lies_where_the_curve_crosses():
    gauge = gauge_with((100, 0.5), (200, 0.7), (400, 0.8), (800, 1.0))
    assert gauge.n_needed == round(400 * 2**0.5)
    assert gauge_with((100, 0.95), (200, 1.0)).n_needed == 100


def test_a_curve_that_rises_is_continued():
    assert gauge_with((100, 0.5), (200, 0.7)).n_needed == 400
    assert gauge_with((100, 0.5), (200, 0.6)).n_needed == 1600


def test_a_curve_that_is_flat_or_too_far_off_says_nothing():
    assert gauge_with((100, 0.5), (200, 0.59)).n_needed is None
    assert gauge_with((100, 0.5), (200, 0.51)).n_needed is None
    assert gauge_with((100, 0.6), (200, 0.5)).n_needed is None


def test_a_rise_within_twice_its_standard_error_or_of_next_to_nothing_is_not_continued():
    assert gauge_with((100, 0.880), (200, 0.892)).n_needed is None  # 0.012 beside 2 · 0.0071
    assert gauge_with((100, 0.880), (200, 0.892), error=0.001).n_needed == round(100 * 2 ** (5 / 3))
    assert gauge_with((100, 0.890), (200, 0.899), error=0.001).n_needed is None


def test_a_flat_curve_has_levelled_off_only_above_chance():
    assert gauge_with((100, 0.85), (200, 0.852)).has_levelled
    assert not gauge_with((100, 0.5), (200, 0.502)).has_levelled
    assert not gauge_with((100, 0.7), (200, 0.8)).has_levelled


def test_the_gauge_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        gauge_with((1, 0.5), (2, 0.5)).auroc = 1.0
