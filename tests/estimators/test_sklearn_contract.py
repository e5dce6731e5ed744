"""scikit-learn's contract: its own checks, and what its users do with an estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from little_problems import OwnNetwork, beside_loud_noise, pairs_within, quick_learner, three_blobs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from twofold import Network, Targets

X, Y = three_blobs()
OF_A_NETWORK: dict[str, str] = {}
OF_A_REGRESSOR = {
    "check_fit2d_predict1d": "features go to a regressor as they are, and of a vector the number "
    "of features is refused before the regressor can say that it wants rows"
}
"""Checks that fail, each with the reason."""


@parametrize_with_checks(
    [quick_learner(), quick_learner(embedder=Ridge())],
    expected_failed_checks=lambda learner: (
        OF_A_REGRESSOR if isinstance(learner.embedder, Ridge) else OF_A_NETWORK
    ),
)
def test_the_learner_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def test_parameters_are_cloned_reached_by_name_and_left_alone_by_fit():
    network, targets = Network(OwnNetwork()), Targets("contrastive", margin=2.0)
    learner = quick_learner(embedder=network, targets=targets)
    learner.set_params(embedder__max_epochs=1, targets__margin=3.0).fit(X, Y)
    assert learner.embedder is network
    assert learner.targets is targets
    again = clone(learner)
    assert again.get_params()["embedder__max_epochs"] == 1
    assert again.get_params()["targets__margin"] == 3
    with pytest.raises(NotFittedError):
        again.transform(X)
    np.testing.assert_allclose(again.fit(X, Y).transform(X), learner.transform(X), atol=1e-5)


def test_a_grid_search_over_the_learners_parameters_uses_the_auroc():
    features, y = three_blobs(36)
    grid = {"n_components": [3, 4], "targets": ["auto", Targets("contrastive")]}
    search = GridSearchCV(quick_learner(embedder=Ridge()), grid, cv=2).fit(features, y)
    best = quick_learner(embedder=Ridge(), **search.best_params_)
    assert search.best_score_ == cross_val_score(best, features, y, cv=2).mean() > 0.95


def test_a_table_in_gives_a_table_out_if_asked():
    features, y = beside_loud_noise()
    frame = pd.DataFrame(features, columns=list("abcde"), index=np.arange(60) + 100)
    learner = quick_learner(embedder="auto", validation_fraction=0).set_output(transform="pandas")
    points = learner.fit(frame, relation=pairs_within(y)).transform(frame)
    assert points.columns.tolist() == [f"metriclearner{k}" for k in range(4)]
    assert points.index.tolist() == frame.index.tolist()
    assert points.columns.tolist() == learner.get_feature_names_out().tolist()
    assert learner.feature_names_in_.tolist() == list("abcde")
    # All else is as ever.
    assert type(learner.pair_similarity(frame, frame)) is np.ndarray
    assert learner.score(frame, y) > 0.9
    assert len(learner.suggest_pairs(4, random_state=0)) == 4
    learner.update(pairs_within(y, 10, seed=1))


@pytest.mark.parametrize("feedback", [2, 0])
def test_the_relation_is_routed_through_a_pipeline_if_it_is_asked_for(feedback):
    relation = pairs_within(Y)
    learner = quick_learner(feedback=feedback, validation_fraction=0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(learner).set_fit_request(relation=True)
        points = make_pipeline(StandardScaler(), routed).fit(X, relation=relation).transform(X)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="relation"):
            make_pipeline(StandardScaler(), clone(learner)).fit(X, relation=relation)
    scaled = StandardScaler().fit_transform(X)
    alone = learner.fit_transform(scaled, relation=relation)
    np.testing.assert_allclose(points, alone, atol=1e-4)


@pytest.mark.filterwarnings("ignore:The network has no inner layer")
@pytest.mark.parametrize(
    "given", [{"y": Y}, {"relation": pairs_within(Y)}], ids=["labels", "pairs"]
)
@pytest.mark.parametrize("embedder", [Network(max_epochs=1), OwnNetwork(), Ridge()])
def test_a_pickled_learner_gives_equal_outputs(embedder, given):
    learner = quick_learner(embedder=embedder, validation_fraction=0).fit(X, **given)
    learner.calibrate_threshold(X, Y)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-5)
    np.testing.assert_array_equal(again.targets_, learner.targets_)
    assert (again.threshold_, again.history_) == (learner.threshold_, learner.history_)


def test_fitting_again_starts_anew():
    learner = quick_learner(validation_fraction=0)
    learner.fit(X[:, :3], relation=pairs_within(Y)).fit(X, Y)
    fresh = quick_learner(validation_fraction=0).fit(X, Y)
    assert learner.transform(X).tobytes() == fresh.transform(X).tobytes()
    assert (learner.n_features_in_, learner.selection_) == (5, None)
    assert "feedback" not in learner.history_
