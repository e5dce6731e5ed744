"""PairMetricLearner: metric-learn's interface, so that its users change the import only."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from little_problems import beside_loud_noise, three_rays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from twofold import (
    MetricLearner,
    Network,
    PairMetricLearner,
    PairRelation,
    RelationWarning,
    Targets,
    load,
)
from twofold.evaluation import pair_auroc

X, Y = beside_loud_noise()
FAST = {"n_components": 4, "feedback": 5, "random_state": 0, "device": "cpu"}
QUICK = {**FAST, "embedder": Network(max_epochs=2)}


def index_pairs(n_pairs: int = 150, seed: int = 0):
    """Return pairs of row numbers, shape (n_pairs, 2), and +1 or -1."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(X), size=(4 * n_pairs, 2))
    rows = rows[rows[:, 0] != rows[:, 1]][:n_pairs]
    return rows, np.where(Y[rows[:, 0]] == Y[rows[:, 1]], 1, -1)


NUMBERS, SIGNS = index_pairs()
PAIRS = X[NUMBERS]


def a_learner(**parameters) -> PairMetricLearner:
    return PairMetricLearner(embedder=Ridge(), **{**FAST, **parameters})


@pytest.fixture(scope="module")
def fitted() -> PairMetricLearner:
    return a_learner().fit(PAIRS, SIGNS)


@pytest.fixture(scope="module")
def noisy() -> tuple[PairMetricLearner, np.ndarray]:
    """A learner that cannot tell all pairs apart, and its pairs."""
    features = np.column_stack([X[:, 0], np.random.default_rng(0).normal(size=60)])
    return a_learner(feedback=0).fit(features[NUMBERS], SIGNS), features[NUMBERS]


def test_pairs_are_learnt_from(fitted):
    rows, signs = index_pairs(seed=1)
    assert fitted.score(X[rows], signs) > 0.95
    assert fitted.n_features_in_ == 5


def test_it_is_a_metric_learner_over_the_distinct_vectors():
    items, number = np.unique(X, axis=0, return_inverse=True)
    assert len(items) == 60
    relation = PairRelation(number[NUMBERS[:, 0]], number[NUMBERS[:, 1]], SIGNS == 1, 60)
    same = MetricLearner(targets=Targets("contrastive"), embedder=Ridge(), **FAST).fit(
        items, relation=relation
    )
    found = a_learner().fit(PAIRS, SIGNS)
    np.testing.assert_allclose(found.transform(X), same.transform(X), atol=1e-5)


def test_equal_vectors_are_one_item(fitted):
    assert fitted.learner_.targets_.shape == (60, 4)
    assert np.isfinite(fitted.learner_.targets_).all()


def test_the_score_is_the_negative_of_the_distance(fitted):
    A, B = fitted.transform(PAIRS[:, 0]), fitted.transform(PAIRS[:, 1])
    distance = fitted.pair_distance(PAIRS)
    np.testing.assert_allclose(distance, np.linalg.norm(A - B, axis=1), atol=1e-5)
    np.testing.assert_array_equal(fitted.pair_score(PAIRS), -distance)
    np.testing.assert_array_equal(fitted.decision_function(PAIRS), -distance)
    assert distance[SIGNS == 1].mean() < distance[SIGNS == -1].mean()


def test_the_score_of_pairs_is_their_auroc(noisy):
    learner, pairs = noisy
    found = learner.score(pairs, SIGNS)
    assert found == pair_auroc(SIGNS == 1, -learner.pair_distance(pairs))
    assert 0.5 < found < 1


def test_the_metric_is_a_function_of_two_vectors_for_neighbours(fitted):
    metric = fitted.get_metric()
    assert metric(X[0], X[1]) == pytest.approx(float(fitted.pair_distance(X[None, :2])[0]))
    assert metric(X[0], X[0]) == pytest.approx(0)
    assert type(metric(X[0], X[1])) is float
    neighbours = KNeighborsClassifier(3, metric=metric, algorithm="brute")
    points = KNeighborsClassifier(3).fit(fitted.transform(X[:20]), Y[:20])
    found = neighbours.fit(X[:20], Y[:20]).predict(X[20:30])
    np.testing.assert_array_equal(found, points.predict(fitted.transform(X[20:30])))


def test_pairs_up_to_the_threshold_are_alike(fitted):
    learner = pickle.loads(pickle.dumps(fitted))
    distance = learner.pair_distance(PAIRS)
    at = float(np.sort(distance)[60])
    assert learner.set_threshold(at) is learner
    assert learner.threshold_ == at
    np.testing.assert_array_equal(learner.predict(PAIRS), np.where(distance <= at, 1, -1))
    assert (learner.predict(PAIRS) == 1).sum() == 61


@pytest.mark.parametrize("loss", ["contrastive", "dot"])
def test_the_learner_inside_calls_the_same_pairs_alike(loss):
    learner = a_learner(targets=Targets(loss), feedback=0).fit(PAIRS, SIGNS)
    assert learner.learner_.metric_ == ("dot" if loss == "dot" else "euclidean")
    inside = learner.learner_.predict_pairs(PAIRS[:, 0], PAIRS[:, 1])
    np.testing.assert_array_equal(np.where(inside, 1, -1), learner.predict(PAIRS))


def test_features_as_given_that_are_compared_by_cosine_keep_the_signs():
    rays, y = three_rays()
    signs = np.where(y[NUMBERS[:, 0]] == y[NUMBERS[:, 1]], 1, -1)
    with pytest.warns(RelationWarning, match="features as given, compared by cosine"):
        learner = PairMetricLearner(random_state=0).fit(rays[NUMBERS], signs)
    distance = learner.pair_distance(rays[NUMBERS])
    assert distance[signs == 1].max() < distance[signs == -1].min()
    np.testing.assert_array_equal(learner.predict(rays[NUMBERS]), signs)
    inside = learner.learner_.predict_pairs(rays[NUMBERS[:, 0]], rays[NUMBERS[:, 1]])
    np.testing.assert_array_equal(np.where(inside, 1, -1), signs)


def test_fit_sets_the_most_accurate_threshold(noisy):
    learner, pairs = noisy
    distance = learner.pair_distance(pairs)
    best = max(np.mean((distance <= at) == (SIGNS == 1)) for at in [-1, *distance])
    assert np.mean(learner.predict(pairs) == SIGNS) == pytest.approx(best)
    assert learner.calibration_.accuracy == pytest.approx(best)


@pytest.mark.parametrize(
    ("strategy", "rest", "rate"),
    [
        ("f_beta", {"beta": 0.5}, None),
        ("max_tpr", {"min_rate": 0.9}, "true_negative_rate"),
        ("max_tnr", {"min_rate": 0.9}, "true_positive_rate"),
    ],
)
def test_thresholds_are_calibrated_by_metric_learns_parameters(noisy, strategy, rest, rate):
    learner, pairs = noisy
    learner = pickle.loads(pickle.dumps(learner))
    assert learner.calibrate_threshold(pairs, SIGNS, strategy=strategy, **rest) is learner
    called, alike = learner.predict(pairs) == 1, SIGNS == 1
    assert learner.calibration_.strategy == strategy
    assert learner.calibration_.beta == rest.get("beta", 1)
    assert learner.calibration_.accuracy == pytest.approx(np.mean(called == alike))
    if rate is not None:
        reached = (
            np.mean(called[alike]) if rate == "true_positive_rate" else np.mean(~called[~alike])
        )
        assert reached >= 0.9
        assert getattr(learner.calibration_, rate) == pytest.approx(reached)
    again = clone(learner).fit(pairs, SIGNS, calibration_params={"strategy": strategy, **rest})
    assert again.threshold_ == pytest.approx(learner.threshold_)


def test_a_preprocessor_turns_numbers_into_rows():
    expected = a_learner().fit(PAIRS, SIGNS).pair_distance(PAIRS)
    for rows in (X, X.tolist(), lambda numbers: X[numbers]):
        learner = a_learner(preprocessor=rows).fit(NUMBERS, SIGNS)
        np.testing.assert_allclose(learner.pair_distance(NUMBERS), expected, atol=1e-4)
        np.testing.assert_allclose(learner.pair_distance(PAIRS), expected, atol=1e-4)
        assert learner.score(NUMBERS.tolist(), SIGNS.tolist()) > 0.9


def test_a_preprocessor_of_images_gives_images():
    learner = PairMetricLearner(preprocessor=X.reshape(60, 1, 1, 5), **QUICK)
    learner.fit(NUMBERS, SIGNS)
    assert learner.learner_.input_shape_ == (1, 1, 5)


def test_pairs_of_images_stay_images():
    images = PAIRS.reshape(150, 2, 1, 1, 5)
    learner = PairMetricLearner(**QUICK).fit(images, SIGNS)
    assert learner.learner_.input_shape_ == (1, 1, 5)
    assert learner.pair_distance(images).shape == (150,)


@pytest.mark.parametrize("shape", [(4,), (4, 2), (4, 3, 5), (4, 5)])
def test_pairs_of_a_wrong_shape_are_refused_with_it(shape):
    with pytest.raises(
        ValueError, match=r"pairs must have shape \(n_pairs, 2, n_features\)"
    ) as caught:
        a_learner().fit(np.zeros(shape), [1, 1, -1, -1])
    assert str(shape) in str(caught.value)
    assert "pass a preprocessor" in str(caught.value)


def test_labels_that_are_not_plus_or_minus_one_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"first at row 1 \(.*0.*\)\. For {0, 1} pass 2 \* y - 1"):
        a_learner().fit(PAIRS[:3], [1, 0, 1])
    with pytest.raises(ValueError, match=r"1 value\(s\) are not, first at row 2 \(.*2.*\)\.$"):
        a_learner().fit(PAIRS[:3], [1, -1, 2])


def test_labels_of_another_length_are_refused(fitted):
    for call in (a_learner().fit, fitted.score, fitted.calibrate_threshold):
        with pytest.raises(ValueError, match=r"shape \(150,\), got \(149,\)"):
            call(PAIRS, SIGNS[:-1])


@pytest.mark.parametrize(("sign", "kind"), [(1, "no dissimilar"), (-1, "no similar")])
def test_pairs_of_one_kind_are_refused(sign, kind):
    with pytest.raises(ValueError, match=f"The relation has {kind} pair"):
        a_learner().fit(PAIRS, np.full(len(PAIRS), sign))


def test_a_pair_of_equal_vectors_is_refused():
    with pytest.raises(ValueError, match="join an item to itself, first at row 1"):
        a_learner().fit(X[[[0, 1], [2, 2], [0, 3]]], [1, 1, -1])


def test_vectors_that_are_not_finite_are_refused():
    wrong = PAIRS.copy()
    wrong[3, 1, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        PairMetricLearner(**QUICK).fit(wrong, SIGNS)


def test_a_threshold_that_is_no_number_is_refused(fitted):
    for wrong in (np.nan, "far", None):
        with pytest.raises((TypeError, ValueError), match="threshold must be"):
            fitted.set_threshold(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.transform(X),
        lambda learner: learner.pair_distance(PAIRS),
        lambda learner: learner.pair_score(PAIRS),
        lambda learner: learner.decision_function(PAIRS),
        lambda learner: learner.predict(PAIRS),
        lambda learner: learner.score(PAIRS, SIGNS),
        lambda learner: learner.get_metric(),
        lambda learner: learner.set_threshold(1.0),
        lambda learner: learner.calibrate_threshold(PAIRS, SIGNS),
        lambda learner: learner.save("nowhere"),
    ],
)
def test_nothing_is_done_before_fit(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(PairMetricLearner())


def test_it_is_cloned_pickled_and_cross_validated(fitted):
    again = clone(fitted)
    assert again.get_params()["embedder"].get_params() == Ridge().get_params()
    assert not hasattr(again, "learner_")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(PAIRS), fitted.predict(PAIRS))
    rows, signs = index_pairs(400)
    assert cross_val_score(again, X[rows], signs, cv=2).mean() > 0.9


def test_the_output_may_be_a_frame(fitted):
    learner = a_learner().set_output(transform="pandas").fit(PAIRS, SIGNS)
    found = learner.transform(X)
    assert found.columns.tolist() == [f"pairmetriclearner{k}" for k in range(4)]
    np.testing.assert_allclose(found, fitted.transform(X), atol=1e-5)


def test_the_defaults_learn_pairs_too():
    learner = PairMetricLearner(random_state=0).fit(PAIRS, SIGNS)
    assert learner.score(PAIRS, SIGNS) > 0.9
    assert learner.pair_distance(PAIRS).dtype == np.float32


@pytest.mark.parametrize("feedback", [3, 0])
def test_parameters_reach_the_learner_inside(feedback):
    seen = []
    network = Network(max_epochs=3, batch_size=32, callback=seen.append)
    learner = PairMetricLearner(
        4,
        targets=Targets("dot"),
        embedder=network,
        feedback=feedback,
        validation_fraction=0,
        device="cpu",
        random_state=0,
    ).fit(PAIRS, SIGNS)
    assert [(epoch.number, epoch.n_epochs) for epoch in seen] == [(1, 3), (2, 3), (3, 3)]
    inside = learner.learner_
    assert ("feedback" in inside.history_) == bool(feedback)
    assert inside.plan_.embedder.batch_size == 32
    assert (inside.metric_, inside.selection_ is None) == ("dot", not feedback)


def test_a_saved_model_opens_as_the_learner_inside(fitted, tmp_path):
    again = load(fitted.save(tmp_path / "model"))
    assert type(again) is MetricLearner
    np.testing.assert_allclose(again.transform(X), fitted.transform(X), atol=1e-5)
    inside = again.predict_pairs(PAIRS[:, 0], PAIRS[:, 1])
    np.testing.assert_array_equal(np.where(inside, 1, -1), fitted.predict(PAIRS))


def test_lists_of_pairs_are_taken():
    learner = PairMetricLearner(embedder=KNeighborsRegressor(1), **FAST)
    learner.fit(PAIRS.tolist(), SIGNS.tolist())
    assert learner.score(PAIRS.tolist(), SIGNS.tolist()) > 0.9
