"""Fixed targets: one-hot vectors, simplices, and regression to them as to any other targets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from twofold.baselines._fixed_targets import FixedTargetLearner, simplex_vertices
from twofold.regression import TrainingConfig, fit_embedder
from twofold.targets import standardise_targets

X = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
Y = np.arange(30) % 3
LABELS = np.random.default_rng(1).integers(0, 2, (30, 4))
LABELS[:, 0] |= ~LABELS.any(axis=1)
FAST = {"max_epochs": 3, "random_state": 0, "device": "cpu"}


@pytest.mark.parametrize("n_vertices", [2, 3, 10, 83])
def test_vertices_of_a_simplex_are_all_one_apart_about_the_origin(n_vertices):
    vertices = simplex_vertices(n_vertices)
    assert vertices.shape == (n_vertices, n_vertices - 1)
    assert vertices.dtype == np.float32
    np.testing.assert_allclose(pdist(vertices), 1, atol=1e-6)
    np.testing.assert_allclose(vertices.mean(axis=0), 0, atol=1e-6)


def test_one_hot_targets_have_a_component_a_class():
    learner = FixedTargetLearner(**FAST).fit(X, Y)
    np.testing.assert_array_equal(learner.targets_, np.eye(3)[Y])
    assert learner.dim_ == 3
    assert learner.metric_ == "euclidean"


def test_a_simplex_has_a_component_less():
    learner = FixedTargetLearner("simplex", **FAST).fit(X, Y)
    np.testing.assert_array_equal(learner.targets_, simplex_vertices(3)[Y])
    assert learner.transform(X).shape == (30, 2)
    assert learner.metric_ == "euclidean"


def test_several_labels_are_their_own_targets():
    learner = FixedTargetLearner(**FAST).fit(X, LABELS)
    np.testing.assert_array_equal(learner.targets_, LABELS)


def test_a_simplex_for_several_labels_is_refused():
    with pytest.raises(ValueError, match="Use targets='one-hot', whose targets are the rows"):
        FixedTargetLearner("simplex", **FAST).fit(X, LABELS)


def test_unknown_targets_are_refused():
    with pytest.raises(ValueError, match="targets must be one of 'one-hot', 'simplex', got 'cube'"):
        FixedTargetLearner("cube").fit(X, Y)


def test_items_of_unknown_class_have_no_target():
    learner = FixedTargetLearner(**FAST).fit(X, np.where(Y == 2, -1, Y))
    assert np.isnan(learner.targets_[Y == 2]).all()
    assert np.isfinite(learner.targets_[Y != 2]).all()


@pytest.mark.parametrize("targets", ["one-hot", "simplex"])
def test_it_is_the_regression_of_phase_2(targets):
    learner = FixedTargetLearner(targets, validation_fraction=0.2, **FAST).fit(X, Y)
    points, mean, scale = standardise_targets(learner.targets_)
    config = TrainingConfig(3, 64, 2e-3, weight_decay=0.03, dropout=0.2)
    rng = np.random.default_rng(0)
    fitted = fit_embedder("mlp", X, points, config, rng, validation_fraction=0.2)
    expected = fitted.embedder.predict(X) * np.float32(scale) + mean
    np.testing.assert_array_equal(learner.transform(X), expected)
    assert learner.history_["training"] == fitted.history.loss
    assert learner.history_["validation"] == fitted.history.validation_loss


def test_points_come_close_to_their_targets():
    y = (X[:, 0] > 0).astype(int)
    learner = FixedTargetLearner(**{**FAST, "max_epochs": 40}).fit(X, y)
    assert np.abs(learner.transform(X) - learner.targets_).mean() < 0.1
