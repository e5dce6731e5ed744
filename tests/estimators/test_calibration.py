"""Thresholds of a learner: chosen on held-out pairs, used, forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import pairs_within, quick_learner, three_blobs
from sklearn.linear_model import Ridge

from twofold import LabelRelation, MetricLearner, PairRelation, Targets, TripletRelation

X, Y = three_blobs()
NOISY = np.column_stack([X[:, 0], np.random.default_rng(0).normal(size=60)])
PAIRS = pairs_within(Y)
ALIKE = PAIRS.similar == 1


def a_learner(loss: str = "dot") -> MetricLearner:
    return quick_learner(targets=Targets(loss), embedder=Ridge()).fit(NOISY, Y)


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
@pytest.mark.parametrize(
    ("strategy", "parameters"), [("accuracy", {}), ("max_tpr", {"min_rate": 0.9})]
)
def test_a_threshold_is_the_best_of_all_that_there_are(loss, strategy, parameters):
    learner = a_learner(loss)
    similarity = learner.pair_similarity(NOISY[PAIRS.left], NOISY[PAIRS.right])

    def merit(called):
        if strategy == "accuracy":
            return np.mean(called == ALIKE)
        return called[ALIKE].mean() if called[~ALIKE].mean() <= 0.1 else -1

    best = max(merit(similarity >= at) for at in [np.inf, *np.unique(similarity)])
    same = learner.calibrate_threshold(NOISY, relation=PAIRS, strategy=strategy, **parameters)
    assert same is learner
    called = learner.predict_pairs(NOISY[PAIRS.left], NOISY[PAIRS.right])
    assert merit(called) == pytest.approx(best)
    reached = learner.calibration_
    assert reached.accuracy == pytest.approx(np.mean(called == ALIKE))
    assert (reached.strategy, reached.threshold) == (strategy, learner.threshold_)


def test_labels_grades_and_relations_give_the_same_threshold():
    expected = a_learner().calibrate_threshold(NOISY, Y).calibration_
    pairs = LabelRelation(Y).sample_pairs(random_state=0)
    graded = PairRelation(pairs.left, pairs.right, 0.2 + 0.4 * pairs.similar, 60)
    for given in (
        {"y": Y.tolist()},
        {"y": np.eye(3, dtype=int)[Y]},
        {"relation": LabelRelation(Y)},
        {"relation": pairs},
        {"relation": graded},
    ):
        assert a_learner().calibrate_threshold(NOISY, **given).calibration_ == expected


def test_a_pair_at_the_threshold_is_alike_and_the_next_fit_forgets_it():
    learner = a_learner()
    similarity = learner.pair_similarity(NOISY[:20], NOISY[20:40])
    learner.threshold_ = float(similarity[3])
    called = learner.predict_pairs(NOISY[:20], NOISY[20:40])
    assert called.dtype == bool
    np.testing.assert_array_equal(called, similarity >= similarity[3])
    learner.calibrate_threshold(NOISY, relation=PAIRS).fit(NOISY, Y)
    assert not hasattr(learner, "calibration_")
    with pytest.raises(ValueError, match="There is no threshold yet: call calibrate_threshold"):
        learner.predict_pairs(NOISY, NOISY)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"strategy": "best"}, ValueError, r"strategy must be one of 'accuracy', .* got 'best'"),
        ({"strategy": "max_tpr"}, ValueError, "strategy='max_tpr' needs min_rate"),
        ({"y": Y}, ValueError, "Both y and relation are given"),
        ({"relation": pairs_within(Y, n_items=99)}, ValueError, "about 99 items, but X has 60"),
        ({"relation": TripletRelation([0], [1], [2], 60)}, TypeError, "needs pairs or labels"),
    ],
)
def test_what_gives_no_threshold_is_refused(given, error, sentence):
    learner = a_learner()
    with pytest.raises(error, match=sentence):
        learner.calibrate_threshold(NOISY, **{"relation": PAIRS, **given})
    assert not hasattr(learner, "threshold_")
