"""scikit-learn's contract: its own checks, and what its users do with an estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from little_problems import FAST, OwnNetwork, beside_loud_noise, pairs_within, three_blobs
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from twofold import MetricLearner, load

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks that fail, by name, each with the reason; there is none."""


@parametrize_with_checks(
    [MetricLearner(**FAST)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_the_learner_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def test_a_clone_has_the_parameters_and_nothing_learnt():
    X, y = three_blobs()
    learner = MetricLearner(loss="contrastive", margin=2.0, embedder=Ridge(alpha=3), **FAST)
    again = clone(learner.fit(X, y))
    assert again.embedder is not learner.embedder
    assert again.embedder.alpha == 3
    plain = {**learner.get_params(deep=False), "embedder": None}
    assert {**again.get_params(deep=False), "embedder": None} == plain
    with pytest.raises(NotFittedError):
        again.transform(X)


def test_a_clone_of_a_learner_with_a_users_network_fits_alike():
    X, y = three_blobs()
    learner = MetricLearner(embedder=OwnNetwork(), **FAST)
    found = clone(learner).fit(X, y).transform(X)
    np.testing.assert_array_equal(found, learner.fit(X, y).transform(X))


def test_parameters_of_a_regressor_are_reached_by_name():
    learner = MetricLearner(embedder=Ridge()).set_params(embedder__alpha=7.0)
    assert learner.embedder.alpha == 7


def test_a_pipeline_embeds_and_classifies():
    X, y = three_blobs()
    steps = make_pipeline(StandardScaler(), MetricLearner(**FAST), KNeighborsClassifier(3))
    assert steps.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


def test_a_grid_search_over_dim_and_loss_uses_the_auroc():
    X, y = three_blobs(36)
    grid = {"dim": [3, 4], "loss": ["dot", "contrastive"]}
    learner = MetricLearner(embedder=Ridge(), random_state=0)
    search = GridSearchCV(learner, grid, cv=2).fit(X, y)
    means = search.cv_results_["mean_test_score"]
    for parameters, mean in zip(search.cv_results_["params"], means, strict=True):
        one = clone(learner).set_params(**parameters)
        assert mean == pytest.approx(cross_val_score(one, X, y, cv=2).mean())
    assert search.best_score_ == means.max() > 0.95


def test_a_data_frame_in_gives_a_data_frame_out_if_asked():
    X, y = three_blobs()
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) + 100)
    learner = MetricLearner(**FAST).set_output(transform="pandas").fit(frame, y)
    found = learner.transform(frame)
    assert found.columns.tolist() == [f"metriclearner{k}" for k in range(4)]
    assert found.index.tolist() == frame.index.tolist()
    assert found.columns.tolist() == learner.get_feature_names_out().tolist()
    assert learner.feature_names_in_.tolist() == list("abcde")
    plain = MetricLearner(**FAST).fit(X, y).transform(X)
    np.testing.assert_array_equal(found.to_numpy(), plain)


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_columns_under_other_names_are_refused(embedder):
    X, y = three_blobs()
    frame = pd.DataFrame(X, columns=list("abcde"))
    learner = MetricLearner(embedder=embedder, **FAST).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        learner.transform(frame[list("edcba")])


@pytest.mark.parametrize("embedder", ["mlp", KNeighborsRegressor(1)])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_features_give_what_dense_ones_give(embedder, form):
    X, y = three_blobs()
    X = np.where(np.abs(X) < 3, 0, X)
    learner = MetricLearner(embedder=embedder, **FAST).fit(form(X), y)
    dense = MetricLearner(embedder=embedder, **FAST).fit(X, y)
    np.testing.assert_allclose(learner.transform(form(X)), dense.transform(X), atol=2e-4)


@pytest.mark.parametrize("feedback", ["auto", 0])
def test_the_relation_is_routed_through_a_pipeline(feedback):
    X, y = beside_loud_noise()
    relation = pairs_within(y)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = MetricLearner(feedback=feedback, **FAST).set_fit_request(relation=True)
        steps = make_pipeline(StandardScaler(), learner).fit(X, relation=relation)
        found = steps.transform(X)
    scaled = StandardScaler().fit_transform(X)
    alone = MetricLearner(feedback=feedback, **FAST).fit(scaled, relation=relation)
    np.testing.assert_array_equal(found, alone.transform(scaled))


def test_the_score_may_ask_for_a_relation():
    # A Pipeline's score routes only to a last step whose score takes sample_weight too.
    with sklearn.config_context(enable_metadata_routing=True):
        learner = MetricLearner(**FAST).set_score_request(relation=True)
        assert learner.get_metadata_routing().score.requests == {"relation": True}


def test_a_relation_that_was_not_asked_for_is_not_routed():
    X, y = three_blobs()
    with sklearn.config_context(enable_metadata_routing=True):
        steps = make_pipeline(StandardScaler(), MetricLearner(**FAST))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="relation"):
            steps.fit(X, relation=pairs_within(y))


@pytest.mark.parametrize("embedder", ["mlp", OwnNetwork(), Ridge()])
def test_a_pickled_learner_gives_equal_outputs(embedder):
    X, y = three_blobs()
    learner = MetricLearner(embedder=embedder, **FAST).fit(X, y)
    learner.calibrate_threshold(X, y)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))
    np.testing.assert_array_equal(again.targets_, learner.targets_)
    assert again.threshold_ == learner.threshold_


@pytest.mark.parametrize("feedback", ["auto", 0])
def test_fit_transform_takes_a_relation_too(feedback):
    X, y = beside_loud_noise()
    learner, relation = MetricLearner(feedback=feedback, **FAST), pairs_within(y)
    found = learner.fit_transform(X, relation=relation)
    again = clone(learner).fit(X, relation=relation).transform(X)
    np.testing.assert_array_equal(found, again)


def test_fitting_again_starts_anew():
    X, y = three_blobs()
    learner = MetricLearner(**FAST).fit(X[:, :3], y == 0)
    found = learner.fit(X, y).transform(X)
    np.testing.assert_array_equal(found, MetricLearner(**FAST).fit(X, y).transform(X))
    assert learner.n_features_in_ == 5


def test_a_model_knows_its_features_after_loading(tmp_path):
    X, y = three_blobs()
    frame = pd.DataFrame(X, columns=list("abcde"))
    folder = MetricLearner(**FAST).fit(frame, y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="feature names should match"):
        load(folder).transform(frame[list("edcba")])
