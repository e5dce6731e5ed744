"""Fixed targets: one-hot vectors, simplices, and regression to them as to any other targets."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.baselines import FixedTargetLearner
from twofold.regression import Network, OutputScale, TrainingConfig, fit_embedder
from twofold.targets import simplex_vertices, standardise_targets

X = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
Y = np.arange(30) % 3
LABELS = np.random.default_rng(1).integers(0, 2, (30, 4))
LABELS[:, 0] |= ~LABELS.any(axis=1)
FAST = {"embedder": Network(max_epochs=3), "random_state": 0, "device": "cpu"}


def test_one_hot_targets_have_a_component_a_class():
    learner = FixedTargetLearner(**FAST).fit(X, Y)
    np.testing.assert_array_equal(learner.targets_, np.eye(3)[Y])
    assert learner.n_components_ == 3
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
    config = TrainingConfig("mlp", 3, 64, 2e-3, weight_decay=0.03, dropout=0.2)
    fitted = fit_embedder(
        config,
        X,
        points,
        np.random.default_rng(0),
        output_scale=OutputScale(mean, scale),
        validation_fraction=0.2,
    )
    np.testing.assert_array_equal(learner.transform(X), fitted.embedder.predict(X))
    assert learner.history_["training"] == fitted.history.loss
    assert learner.history_["validation"] == fitted.history.validation_loss


def test_points_come_close_to_their_targets():
    y = (X[:, 0] > 0).astype(int)
    learner = FixedTargetLearner(**FAST | {"embedder": Network(max_epochs=40)}).fit(X, y)
    assert np.abs(learner.transform(X) - learner.targets_).mean() < 0.1
