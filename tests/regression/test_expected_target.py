"""Learning which target an item has: the expected target, and what it is learnt by."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

import twofold
from twofold import LabelRelation, MetricLearner
from twofold.regression import TrainingConfig, fit_embedder, open_features
from twofold.regression._expected_target import (
    SMOOTHING,
    ExpectedTarget,
    LikelihoodTask,
    distinct_targets,
)

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)
CONFIG = TrainingConfig(max_epochs=20, batch_size=64, learning_rate=2e-3)


def slow_chances(outputs, targets):
    """The definition, an item at a time."""
    chances = []
    for output in outputs:
        odds = [math.exp(float(output @ target) / math.sqrt(len(target))) for target in targets]
        chances.append([each / sum(odds) for each in odds])
    return np.array(chances)


@pytest.fixture
def outputs():
    return np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)


@pytest.fixture
def targets():
    return np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)


def test_it_is_the_mean_of_the_targets_by_their_chances(outputs, targets):
    found = ExpectedTarget(torch.from_numpy(targets))(torch.from_numpy(outputs)).numpy()
    np.testing.assert_allclose(found, slow_chances(outputs, targets) @ targets, atol=1e-6)


def test_the_loss_is_the_smoothed_likelihood_of_each_item_s_own(outputs, targets):
    which = np.array([0, 1, 2, 2, 1, 0, 0])
    items = np.array([6, 5, 4, 3, 2, 1, 0])
    network = torch.nn.Sequential(
        torch.nn.Identity(), torch.nn.Identity(), ExpectedTarget(torch.from_numpy(targets))
    )
    task = LikelihoodTask(open_features(outputs, "cpu"), items, which, "cpu")
    examples = torch.tensor([1, 3, 4])
    chances = slow_chances(outputs[items[[1, 3, 4]]], targets)
    own = -np.log(chances[np.arange(3), which[[1, 3, 4]]])
    spread = -np.log(chances).mean(axis=1)
    expected = ((1 - SMOOTHING) * own + SMOOTHING * spread).mean()
    assert float(task.loss(network, examples)) == pytest.approx(expected, rel=1e-5)


def test_outputs_nearer_to_the_right_target_lose_less(targets):
    head = ExpectedTarget(torch.from_numpy(targets))
    network = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity(), head)
    losses = []
    for size in (0.0, 0.5, 1.0):
        features = open_features(size * targets, "cpu")
        task = LikelihoodTask(features, np.arange(3), np.arange(3), "cpu")
        losses.append(float(task.loss(network, torch.arange(3))))
    assert losses[0] > losses[1] > losses[2]


def test_distinct_targets_give_the_targets_back():
    drawn = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    targets = drawn[[2, 0, 1, 1, 3, 0]]
    values, which = distinct_targets(targets)
    assert len(values) == 4
    np.testing.assert_array_equal(values[which], targets)


def test_where_an_item_s_target_is_uncertain_it_gives_their_mean():
    # Items that look the same have one of two targets, three to one.
    targets = np.array([[1.0, -1.0], [-1.0, 1.0]], dtype=np.float32)[[0, 0, 0, 1] * 50]
    features = np.ones((200, 2), dtype=np.float32)
    mean = targets.mean(axis=0)
    config = TrainingConfig(max_epochs=60, batch_size=50, learning_rate=5e-3, dropout=0.0)
    for regression, tolerance in (("squared", 0.05), ("likelihood", 0.06)):
        fitted = fit_embedder(
            "mlp", features, targets, config, np.random.default_rng(0), regression=regression
        )
        found = fitted.embedder.predict(features[:1])[0]
        # The smoothing draws chances a little towards each other.
        np.testing.assert_allclose(found, mean, atol=tolerance)


def test_classes_are_learnt_better_by_it():
    rng = np.random.default_rng(0)
    order = rng.permutation(len(Y))
    train, test = order[:900], order[900:]
    scores = {
        regression: np.mean(
            [
                MetricLearner(regression=regression, max_epochs=8, random_state=seed, device="cpu")
                .fit(X[train], Y[train])
                .score(X[test], Y[test])
                for seed in range(3)
            ]
        )
        for regression in ("squared", "likelihood")
    }
    assert scores["likelihood"] > scores["squared"]
    assert scores["likelihood"] > 0.997


def test_a_model_comes_back_with_its_targets(tmp_path):
    learner = MetricLearner(max_epochs=2, random_state=0, device="cpu").fit(X, Y)
    network = learner.embedder_.network
    assert isinstance(network[-1], ExpectedTarget)
    assert len(network[-1].targets) == 10
    again = twofold.load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_array_equal(again.transform(X), learner.transform(X))


def test_the_embedding_lies_among_the_targets():
    learner = MetricLearner(12, max_epochs=3, random_state=0, device="cpu").fit(X, Y)
    similarity = learner.pair_similarity(X[:300], X[300:600])
    # The inner product of two expected one-hot vectors is the chance that both are of one class.
    assert similarity.min() > -1e-5
    assert similarity.max() < 1 + 1e-5


def test_the_validation_part_is_scored_by_it_too():
    learner = MetricLearner(max_epochs=3, validation_fraction=0.2, random_state=0, device="cpu")
    learner.fit(X, Y)
    assert len(learner.history_["validation"]) == 3
    assert learner.history_["validation"][0] < math.log(10) + 0.2


@pytest.mark.parametrize(
    ("parameters", "data", "is_likelihood"),
    [
        ({}, {"y": Y}, True),
        ({"loss": "contrastive"}, {"y": Y}, True),
        ({"regression": "squared"}, {"y": Y}, False),
        ({"pairs": "sampled"}, {"y": Y}, False),
        ({"dim": 4}, {"y": Y}, False),
        ({"feedback": 0}, {"relation": LabelRelation(Y).sample_pairs(random_state=0)}, False),
        ({}, {"y": np.eye(10, dtype=int)[Y] | np.eye(10, dtype=int)[Y // 2]}, False),
    ],
)
def test_auto_takes_it_for_classes_that_are_known_whole(parameters, data, is_likelihood):
    learner = MetricLearner(max_epochs=1, random_state=0, device="cpu", **parameters).fit(X, **data)
    assert isinstance(learner.embedder_.network[-1], ExpectedTarget) == is_likelihood


def test_a_user_s_own_network_learns_by_it():
    network = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 12))
    learner = MetricLearner(12, embedder=network, max_epochs=10, random_state=0, device="cpu")
    assert learner.fit(X / 16, Y).score(X / 16, Y) > 0.95


def test_targets_that_no_two_items_share_are_refused():
    learner = MetricLearner(4, pairs="sampled", regression="likelihood", random_state=0)
    with pytest.raises(ValueError, match="needs targets that items share, but 1797 items have"):
        learner.fit(X, Y)


def test_a_regressor_has_its_own_loss():
    learner = MetricLearner(embedder=Ridge(), regression="likelihood", random_state=0)
    with pytest.raises(TypeError, match="Ridge has its own loss: set regression='squared'"):
        learner.fit(X, Y)


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match="regression must be one of"):
        MetricLearner(regression="absolute").fit(X, Y)
