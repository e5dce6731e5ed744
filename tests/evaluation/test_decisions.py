"""Decisions by a threshold: scikit-learn's definitions, intervals that draw whole units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from twofold.evaluation import decision_scores


@st.composite
def scored_pairs(draw):
    n_pairs = draw(st.integers(2, 40))
    alike = np.array(draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs)))
    alike[:2] = [True, False]
    levels = st.integers(-3, 3)
    values = np.array(draw(st.lists(levels, min_size=n_pairs, max_size=n_pairs)), dtype=float)
    return alike, values, draw(levels)


@settings(max_examples=60)
@given(scored_pairs())
def test_the_scores_are_scikit_learns(case):
    alike, values, threshold = case
    scores = decision_scores(alike, values, threshold, n_resamples=0)
    assert scores.auroc == pytest.approx(roc_auc_score(alike, values))
    assert scores.average_precision == pytest.approx(average_precision_score(alike, values))
    precision, recall, f1, _ = precision_recall_fscore_support(
        alike, values >= threshold, average="binary", zero_division=1.0
    )
    assert (scores.precision, scores.recall) == pytest.approx((precision, recall))
    assert scores.f1 == pytest.approx(f1 if (values >= threshold).any() else 0.0)
    assert scores.intervals == {}
    assert (scores.n_similar, scores.n_dissimilar) == (alike.sum(), (~alike).sum())


def test_a_better_similarity_scores_better():
    alike = np.array([1, 1, 0, 0])
    good = decision_scores(alike, [4.0, 3, 2, 1], 2.5, n_resamples=0)
    bad = decision_scores(alike, [1.0, 2, 3, 4], 2.5, n_resamples=0)
    assert (good.auroc, good.average_precision, good.f1, good.eer) == (1, 1, 1, 0)
    assert bad.auroc < good.auroc
    assert bad.average_precision < good.average_precision
    assert bad.f1 < good.f1
    assert bad.eer > good.eer


def test_an_interval_holds_what_resampling_by_hand_gives():
    rng = np.random.default_rng(0)
    alike = rng.random(200) < 0.3
    values = alike + rng.normal(size=200)
    found = decision_scores(alike, values, 0.5, n_resamples=2000, random_state=1)
    by_hand = []
    for _ in range(2000):
        rows = rng.integers(200, size=200)
        drawn, is_alike = values[rows], alike[rows]
        by_hand.append((drawn[is_alike][:, None] > drawn[~is_alike]).mean())
    assert found.intervals["auroc"] == pytest.approx(np.quantile(by_hand, [0.025, 0.975]), abs=0.01)
    assert found.intervals["auroc"][0] < found.auroc < found.intervals["auroc"][1]


def test_pairs_of_one_unit_are_drawn_together_so_that_the_interval_is_wider():
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.random(40) < 0.5, 25)
    values = np.repeat(rng.normal(size=40), 25) + alike
    units = np.repeat(np.arange(40), 25)
    apart, together = (
        decision_scores(alike, values, 0.5, units=u, random_state=0).intervals["recall"]
        for u in (None, units)
    )
    assert np.ptp(together) > 3 * np.ptp(apart)


def test_a_threshold_above_all_calls_nothing_alike():
    scores = decision_scores([1, 0], [0.3, 0.1], 0.9, random_state=0)
    assert (scores.precision, scores.recall, scores.f1) == (1, 0, 0)


def test_units_must_name_one_a_pair():
    with pytest.raises(ValueError, match=r"units must have one unit per pair, shape \(2,\), got"):
        decision_scores([1, 0], [1.0, 0.0], 0.5, units=[1, 2, 3])
