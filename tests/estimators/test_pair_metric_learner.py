"""PairMetricLearner: metric-learn's interface, so that its users change the import only."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from little_problems import X, Y, three_rays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from twofold import MetricLearner, Network, PairMetricLearner, PairRelation, Targets, load
from twofold.evaluation import pair_auroc

FAST = {"n_components": 4, "embedder": Ridge(), "feedback": 5, "random_state": 0, "device": "cpu"}


def index_pairs(n_pairs: int = 150, y=Y, seed: int = 0):
    """Return pairs of row numbers, shape (n_pairs, 2), and +1 or -1."""
    rows = np.random.default_rng(seed).integers(len(X), size=(4 * n_pairs, 2))
    rows = rows[rows[:, 0] != rows[:, 1]][:n_pairs]
    return rows, np.where(y[rows[:, 0]] == y[rows[:, 1]], 1, -1)


NUMBERS, SIGNS = index_pairs()
PAIRS = X[NUMBERS]


def a_learner(**parameters) -> PairMetricLearner:
    return PairMetricLearner(**{**FAST, **parameters})


@pytest.fixture(scope="module")
def fitted() -> PairMetricLearner:
    return a_learner().fit(PAIRS, SIGNS)


@pytest.fixture
def noisy() -> tuple[PairMetricLearner, np.ndarray]:
    """A learner that cannot tell all pairs apart, and its pairs."""
    features = np.column_stack([X[:, 0], np.random.default_rng(0).normal(size=60)])
    return a_learner(feedback=0).fit(features[NUMBERS], SIGNS), features[NUMBERS]


def test_it_is_a_metric_learner_over_the_distinct_vectors(fitted):
    items, number = np.unique(X, axis=0, return_inverse=True)
    assert len(items) == 60
    relation = PairRelation(number[NUMBERS[:, 0]], number[NUMBERS[:, 1]], SIGNS == 1, 60)
    same = MetricLearner(targets=Targets("contrastive"), **FAST).fit(items, relation=relation)
    np.testing.assert_allclose(fitted.transform(X), same.transform(X), atol=1e-5)
    assert fitted.learner_.targets_.shape == (60, 4)
    assert fitted.n_features_in_ == 5
    rows, signs = index_pairs(seed=1)
    assert fitted.score(X[rows], signs) > 0.95


def test_distances_scores_and_the_metric_agree(fitted, noisy):
    A, B = fitted.transform(PAIRS[:, 0]), fitted.transform(PAIRS[:, 1])
    distance = fitted.pair_distance(PAIRS)
    np.testing.assert_allclose(distance, np.linalg.norm(A - B, axis=1), atol=1e-5)
    np.testing.assert_array_equal(fitted.pair_score(PAIRS), -distance)
    np.testing.assert_array_equal(fitted.decision_function(PAIRS), -distance)
    metric = fitted.get_metric()
    assert metric(*PAIRS[0]) == pytest.approx(float(distance[0]))
    assert metric(X[0], X[0]) == pytest.approx(0)
    neighbours = KNeighborsClassifier(3, metric=metric, algorithm="brute").fit(X[:20], Y[:20])
    points = KNeighborsClassifier(3).fit(fitted.transform(X[:20]), Y[:20])
    np.testing.assert_array_equal(
        neighbours.predict(X[20:30]), points.predict(fitted.transform(X[20:30]))
    )
    learner, pairs = noisy
    auroc = learner.score(pairs, SIGNS)
    assert auroc == pair_auroc(SIGNS == 1, -learner.pair_distance(pairs))
    assert 0.5 < auroc < 1


def test_pairs_up_to_the_threshold_are_alike(noisy):
    learner, pairs = noisy
    distance = learner.pair_distance(pairs)
    best = max(np.mean((distance <= at) == (SIGNS == 1)) for at in [-1, *distance])
    assert np.mean(learner.predict(pairs) == SIGNS) == pytest.approx(best)
    assert learner.calibration_.accuracy == pytest.approx(best)
    at = float(np.sort(distance)[60])
    assert learner.set_threshold(at) is learner
    assert learner.threshold_ == at
    np.testing.assert_array_equal(learner.predict(pairs), np.where(distance <= at, 1, -1))
    for wrong in (np.nan, "far", None):
        with pytest.raises((TypeError, ValueError), match="threshold must be"):
            learner.set_threshold(wrong)


@pytest.mark.parametrize("metric", ["euclidean", "dot", "cosine"])
def test_the_learner_inside_calls_the_same_pairs_alike(metric):
    rows, y = three_rays() if metric == "cosine" else (X, Y)
    numbers, signs = index_pairs(y=y)
    given = {"targets": Targets("dot" if metric == "dot" else "contrastive"), "feedback": 0}
    if metric == "cosine":  # only features as given are compared by it
        given |= {"embedder": "auto", "feedback": 5}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*features as given, compared by cosine")
        learner = a_learner(**given).fit(rows[numbers], signs)
    assert learner.learner_.metric_ == metric
    inside = learner.learner_.predict_pairs(rows[numbers[:, 0]], rows[numbers[:, 1]])
    np.testing.assert_array_equal(np.where(inside, 1, -1), learner.predict(rows[numbers]))
    assert np.mean(learner.predict(rows[numbers]) == signs) > 0.9


def test_thresholds_are_calibrated_by_metric_learns_parameters(noisy):
    learner, pairs = noisy
    rest = {"strategy": "max_tpr", "min_rate": 0.9}
    assert learner.calibrate_threshold(pairs, SIGNS, **rest) is learner
    assert learner.calibration_.strategy == "max_tpr"
    assert np.mean(learner.predict(pairs)[SIGNS == -1] == -1) >= 0.9
    again = clone(learner).fit(pairs, SIGNS, calibration_params=rest)
    assert again.threshold_ == pytest.approx(learner.threshold_)


@pytest.mark.parametrize("rows", [X, X.tolist(), lambda numbers: X[numbers]], ids=["", "list", "f"])
def test_a_preprocessor_turns_numbers_into_rows(rows, fitted):
    learner = a_learner(preprocessor=rows).fit(NUMBERS.tolist(), SIGNS.tolist())
    expected = fitted.pair_distance(PAIRS.tolist())
    np.testing.assert_allclose(learner.pair_distance(NUMBERS), expected, atol=1e-4)
    np.testing.assert_allclose(learner.pair_distance(PAIRS), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("pairs", "y", "sentence"),
    [
        *[
            (np.zeros(shape), [1, 1, -1, -1], "shape .n_pairs, 2, n_features., .* a preprocessor")
            for shape in ((4,), (4, 2), (4, 3, 5))
        ],
        (PAIRS[:3], [1, 0, 1], r"first at row 1 \(.*0.*\)\. For {0, 1} pass 2 \* y - 1"),
        (PAIRS[:3], [1, -1, 2], r"1 value\(s\) are not, first at row 2 \(.*2.*\)\.$"),
        (PAIRS, SIGNS[1:], r"shape \(150,\), got \(149,\)"),
        (PAIRS, np.ones(150), "The relation has no dissimilar pair"),
        (PAIRS, -np.ones(150), "The relation has no similar pair"),
        (X[[[0, 1], [2, 2], [0, 3]]], [1, 1, -1], "join an item to itself, first at row 1"),
        (np.where(np.arange(5) == 2, np.nan, PAIRS), SIGNS, "NaN"),
    ],
)
def test_pairs_that_cannot_be_learnt_from_are_refused(pairs, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        a_learner().fit(pairs, y)


@pytest.mark.parametrize("name", ["pair_distance", "predict", "transform", "set_threshold", "save"])
def test_nothing_is_done_before_fit(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(PairMetricLearner(), name)(PAIRS)


def test_it_is_cloned_pickled_cross_validated_saved_and_gives_tables(fitted, tmp_path):
    assert not hasattr(clone(fitted), "learner_")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(PAIRS), fitted.predict(PAIRS))
    rows, signs = index_pairs(400)
    assert cross_val_score(clone(fitted), X[rows], signs, cv=2).mean() > 0.9
    table = copy.set_output(transform="pandas").transform(X)
    assert table.columns.tolist() == [f"pairmetriclearner{k}" for k in range(4)]
    again = load(fitted.save(tmp_path / "model"))
    assert type(again) is MetricLearner
    np.testing.assert_allclose(again.transform(X), table, atol=1e-5)
    inside = again.predict_pairs(PAIRS[:, 0], PAIRS[:, 1])
    np.testing.assert_array_equal(np.where(inside, 1, -1), fitted.predict(PAIRS))


@pytest.mark.parametrize("feedback", [3, 0])
def test_parameters_reach_the_learner_inside(feedback):
    seen = []
    network = Network(max_epochs=3, batch_size=32, callback=seen.append)
    given = {"targets": Targets("dot"), "feedback": feedback, "validation_fraction": 0}
    inside = a_learner(embedder=network, **given).fit(PAIRS, SIGNS).learner_
    assert [(epoch.number, epoch.n_epochs) for epoch in seen] == [(1, 3), (2, 3), (3, 3)]
    assert inside.plan_.embedder.batch_size == 32
    assert (inside.metric_, inside.selection_ is None) == ("dot", not feedback)
