"""Thresholds of a learner: chosen on held-out pairs, used, forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import FAST, pairs_within, three_blobs
from sklearn.linear_model import Ridge

from twofold import LabelRelation, MetricLearner, PairRelation

X, Y = three_blobs()
NOISY = np.column_stack([X[:, 0], np.random.default_rng(0).normal(size=60)])
RELATION = pairs_within(Y)


def a_learner(loss: str = "dot") -> MetricLearner:
    return MetricLearner(loss=loss, embedder=Ridge(), **FAST).fit(NOISY, Y)


def every_outcome(learner):
    """Return (threshold, hits, false alarms) for every threshold that parts the pairs."""
    similarity = learner.pair_similarity(NOISY[RELATION.left], NOISY[RELATION.right])
    alike = RELATION.similar == 1
    for threshold in [np.inf, *np.unique(similarity)[::-1]]:
        called = similarity >= threshold
        yield threshold, int((called & alike).sum()), int((called & ~alike).sum())


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
@pytest.mark.parametrize(
    ("strategy", "parameters"),
    [
        ("accuracy", {}),
        ("f_beta", {"beta": 2.0}),
        ("max_tpr", {"min_rate": 0.9}),
        ("max_tnr", {"min_rate": 0.8}),
    ],
)
def test_a_threshold_is_the_best_of_all_that_there_are(loss, strategy, parameters):
    learner = a_learner(loss)
    n_alike = int((RELATION.similar == 1).sum())
    n_other = RELATION.n_pairs - n_alike

    def merit(hits, false):
        tpr, tnr = hits / n_alike, 1 - false / n_other
        if strategy == "accuracy":
            return (hits + n_other - false) / RELATION.n_pairs
        if strategy == "f_beta":
            return 5 * hits / (5 * hits + 4 * (n_alike - hits) + false)
        if strategy == "max_tpr":
            return tpr if tnr >= 0.9 else -1
        return tnr if tpr >= 0.8 else -1

    best = max(merit(hits, false) for _, hits, false in every_outcome(learner))
    found = learner.calibrate_threshold(NOISY, RELATION, strategy, **parameters)
    called = learner.predict_pairs(NOISY[RELATION.left], NOISY[RELATION.right])
    alike = RELATION.similar == 1
    hits, false = (called & alike).sum(), (called & ~alike).sum()
    assert merit(hits, false) == pytest.approx(best)
    assert found.true_positive_rate == pytest.approx(hits / n_alike)
    assert found.true_negative_rate == pytest.approx(1 - false / n_other)
    assert found.accuracy == pytest.approx(np.mean(called == alike))
    assert (found.n_similar, found.n_dissimilar) == (n_alike, n_other)
    assert found.strategy == strategy
    assert learner.calibration_ is found
    assert learner.threshold_ == found.threshold


def test_a_pair_at_the_threshold_is_called_alike():
    learner = a_learner()
    similarity = learner.pair_similarity(NOISY[:20], NOISY[20:40])
    learner.threshold_ = float(similarity[3])
    called = learner.predict_pairs(NOISY[:20], NOISY[20:40])
    assert called.dtype == bool
    np.testing.assert_array_equal(called, similarity >= similarity[3])


@pytest.mark.parametrize("given", ["labels", "label_relation", "indicator"])
def test_labels_give_a_threshold_too(given):
    learner = a_learner()
    relation = {
        "labels": Y,
        "label_relation": LabelRelation(Y),
        "indicator": np.eye(3, dtype=int)[Y],
    }[given]
    found = learner.calibrate_threshold(NOISY, relation)
    pairs = LabelRelation(Y).sample_pairs(random_state=0)
    assert found == learner.calibrate_threshold(NOISY, pairs)
    assert found.accuracy > 0.6


def test_grades_above_one_half_are_alike():
    learner = a_learner()
    graded = PairRelation(RELATION.left, RELATION.right, 0.2 + 0.4 * RELATION.similar, 60)
    found = learner.calibrate_threshold(NOISY, graded)
    assert found == learner.calibrate_threshold(NOISY, RELATION)


def test_a_threshold_is_forgotten_by_the_next_fit():
    learner = a_learner()
    learner.calibrate_threshold(NOISY, RELATION)
    learner.fit(NOISY, Y)
    assert not hasattr(learner, "threshold_")
    assert not hasattr(learner, "calibration_")
    with pytest.raises(ValueError, match="There is no threshold yet"):
        learner.predict_pairs(NOISY, NOISY)


def test_wrong_strategies_are_refused():
    learner = a_learner()
    with pytest.raises(ValueError, match=r"strategy must be one of 'accuracy', .* got 'best'"):
        learner.calibrate_threshold(NOISY, RELATION, "best")
    with pytest.raises(ValueError, match="strategy='max_tpr' needs min_rate"):
        learner.calibrate_threshold(NOISY, RELATION, "max_tpr")
    assert not hasattr(learner, "threshold_")
