"""What users of metric-learn call: matrices, functions of two vectors, the supervised kind."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import X, Y, beside_loud_noise
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from twofold import (
    MetricLearner,
    Network,
    PairMetricLearner,
    PairMetricLearnerSupervised,
    PairRelation,
)
from twofold.baselines import NCALearner
from twofold.evaluation import PairFolds

NUMBERS = np.random.default_rng(0).integers(60, size=(200, 2))
NUMBERS = NUMBERS[NUMBERS[:, 0] != NUMBERS[:, 1]]
SIGNS = np.where(Y[NUMBERS[:, 0]] == Y[NUMBERS[:, 1]], 1, -1)
PAIRS = X[NUMBERS]
LINEAR = {"n_components": 3, "embedder": Ridge(), "feedback": 0, "random_state": 0}


@pytest.fixture(scope="module")
def linear() -> PairMetricLearner:
    return PairMetricLearner(**LINEAR).fit(PAIRS, SIGNS)


@pytest.fixture(scope="module")
def bent() -> PairMetricLearner:
    return PairMetricLearner(**LINEAR | {"embedder": KernelRidge(kernel="rbf")}).fit(PAIRS, SIGNS)


@pytest.mark.parametrize(
    "embedder",
    [
        Ridge(),
        HuberRegressor(),
        make_pipeline(StandardScaler(), Ridge()),
        Network(nn.Sequential(nn.Linear(5, 4), nn.Identity(), nn.Linear(4, 3)), max_epochs=1),
    ],
    ids=["ridge", "one for each output", "pipeline", "linear layers"],
)
def test_the_matrix_of_a_linear_map_gives_its_distances(embedder):
    learner = PairMetricLearner(**LINEAR | {"embedder": embedder}).fit(PAIRS, SIGNS)
    components, matrix = learner.components_, learner.get_mahalanobis_matrix()
    assert components.shape == (3, 5)
    difference = (PAIRS[:, 0] - PAIRS[:, 1]).astype(float)
    squares = np.einsum("ni,ij,nj->n", difference, matrix, difference)
    np.testing.assert_allclose(np.sqrt(squares), learner.pair_distance(PAIRS), rtol=1e-4, atol=1e-5)


def test_linear_baselines_have_a_matrix():
    learner = NCALearner(2, random_state=0).fit(X, Y)
    components = learner.components_
    np.testing.assert_allclose(learner.get_mahalanobis_matrix(), components.T @ components)


def test_without_a_linear_map_there_is_no_matrix_and_a_sentence_says_why(bent):
    assert not hasattr(bent, "components_")
    with pytest.raises(AttributeError, match=r"KernelRidge is not a linear map\. Use transform"):
        bent.get_mahalanobis_matrix()
    compared_by_dot = MetricLearner(3, embedder=Ridge(), metric="seen", random_state=0).fit(X, Y)
    with pytest.raises(AttributeError, match="compared by dot, not by their Euclidean distance"):
        _ = compared_by_dot.components_
    with pytest.raises(NotFittedError):
        PairMetricLearner().get_mahalanobis_matrix()


def test_score_pairs_is_the_distance_as_in_metric_learn(linear):
    np.testing.assert_array_equal(linear.score_pairs(PAIRS), linear.pair_distance(PAIRS))


@pytest.mark.parametrize("metric", ["euclidean", "dot", "cosine"])
def test_the_function_of_two_vectors_is_the_pair_distance(linear, bent, metric):
    for learner in (linear, bent):
        inner = clone(learner.learner_).fit(
            X, relation=PairRelation(*NUMBERS.T, SIGNS == 1, n_items=60)
        )
        inner.metric_ = metric
        function = inner.get_metric()
        expected = inner.pair_distance(PAIRS[:9, 0], PAIRS[:9, 1])
        for _ in range(2):  # the second time from memory
            actual = [function(u, v) for u, v in PAIRS[:9]]
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
        assert function(*PAIRS[0], squared=True) == pytest.approx(actual[0] ** 2)
        with pytest.raises(ValueError, match="must have 5 features, got 4 and 5"):
            function(PAIRS[0, 0, :4], PAIRS[0, 1])


def test_each_vector_is_embedded_once(bent, monkeypatch):
    rows = []
    predict = bent.learner_.embedder_.predict
    monkeypatch.setattr(
        bent.learner_.embedder_, "predict", lambda X: rows.append(len(X)) or predict(X)
    )
    nearest = KNeighborsClassifier(3, metric=bent.get_metric(), algorithm="brute").fit(X, Y)
    points = KNeighborsClassifier(3).fit(bent.transform(X), Y)
    rows.clear()
    new = beside_loud_noise(12, seed=3)[0]
    np.testing.assert_array_equal(nearest.predict(new), points.predict(bent.transform(new)))
    assert sum(rows) == 60 + 12 + 12  # the last by transform
    assert clone(nearest).metric is nearest.metric


def test_a_network_of_images_compares_flat_vectors():
    images = X[:, :4].reshape(60, 1, 2, 2)
    learner = PairMetricLearner(
        3, embedder=Network("mnist", max_epochs=1), feedback=0, random_state=0
    ).fit(images[NUMBERS], SIGNS)
    function = learner.get_metric()
    expected = learner.pair_distance(images[NUMBERS[:1]])[0]
    assert function(*images[NUMBERS[0]].reshape(2, 4)) == pytest.approx(expected, rel=1e-5)


def test_the_supervised_kind_draws_pairs_of_both_kinds_and_learns_from_them():
    learner = PairMetricLearnerSupervised(**LINEAR, n_constraints=80).fit(X, Y)
    relation = learner.learner_._training_data.relation
    assert (relation.similar == 1).sum() == (relation.similar == 0).sum() == 80
    assert learner.score(*beside_loud_noise(seed=4)) > 0.9
    assert learner.get_mahalanobis_matrix().shape == (5, 5)
    assert clone(learner).n_constraints == 80
    assert learner.predict(PAIRS).shape == (len(PAIRS),)


def test_the_supervised_kind_leaves_out_unknown_classes_and_equal_vectors():
    doubled, classes = np.concatenate([X, X[:5]]), np.concatenate([Y, Y[:5]])
    classes[0] = -1
    many = LINEAR | {"n_constraints": 1000}  # nearly all there are
    learner = PairMetricLearnerSupervised(**many).fit(doubled, classes)
    assert learner.learner_._training_data.relation.n_items <= 60
    by_number = PairMetricLearnerSupervised(**many, preprocessor=doubled)
    by_number.fit(np.arange(65), classes)
    np.testing.assert_allclose(by_number.transform(X), learner.transform(X), atol=1e-5)
    assert by_number.score(np.arange(65), classes) == learner.score(doubled, classes)


def test_the_supervised_kind_goes_through_cross_validation_and_refuses_bad_numbers():
    scores = cross_val_score(PairMetricLearnerSupervised(**LINEAR), X, Y, cv=2)
    assert scores.min() > 0.8
    with pytest.raises(ValueError, match="n_constraints must be at least 1, got 0"):
        PairMetricLearnerSupervised(n_constraints=0).fit(X, Y)


def test_a_pair_learner_is_cross_validated_on_items_never_seen():
    learner = PairMetricLearner(**LINEAR, preprocessor=X)
    scores = cross_val_score(learner, NUMBERS, SIGNS, cv=PairFolds(3, random_state=0))
    assert scores.shape == (3,)
    assert scores.min() > 0.6
