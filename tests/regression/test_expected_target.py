"""Learning which target an item has: the expected target, and what it is learnt by."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.regression import (
    NetworkEmbedder,
    OutputScale,
    TrainingConfig,
    fit_embedder,
    open_features,
)
from twofold.regression._expected_target import (
    SMOOTHING,
    ExpectedTarget,
    LikelihoodTask,
    distinct_targets,
)
from twofold.relations import LabelRelation
from twofold.targets import standardise_targets

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)


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
    means = ExpectedTarget(torch.from_numpy(targets))(torch.from_numpy(outputs)).numpy()
    np.testing.assert_allclose(means, slow_chances(outputs, targets) @ targets, atol=1e-6)


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
    config = TrainingConfig("mlp", max_epochs=40, batch_size=50, learning_rate=5e-3, dropout=0.0)
    for regression, tolerance in (("squared", 0.05), ("likelihood", 0.06)):
        fit = fit_embedder(
            config, features, targets, np.random.default_rng(0), regression=regression
        )
        point = fit.embedder.predict(features[:1])[0]
        # The smoothing draws chances a little towards each other.
        np.testing.assert_allclose(point, mean, atol=tolerance)


def test_classes_are_learnt_better_by_it():
    order = np.random.default_rng(0).permutation(len(Y))
    train, test = order[:600], order[600:]
    pairs = LabelRelation(Y[test]).sample_pairs(random_state=0)

    def score(regression, seed):
        points = fitted(regression, train, seed).predict(X[test])
        return pair_auroc(pairs.similar, pair_similarity(points, pairs.left, pairs.right, "dot"))

    squared, likelihood = (
        np.mean([score(regression, seed) for seed in range(2)])
        for regression in ("squared", "likelihood")
    )
    assert likelihood > squared
    assert likelihood > 0.99


def fitted(regression, train, seed: int = 0, network="mlp", **options) -> NetworkEmbedder:
    """Return a network fitted to a one-hot target a class."""
    config = TrainingConfig(
        network, max_epochs=6, batch_size=64, learning_rate=2e-3, weight_decay=0.03, dropout=0.2
    )
    targets, mean, scale = standardise_targets(np.eye(10, 12)[Y[train]])
    rng = np.random.default_rng(seed)
    return fit_embedder(
        config,
        X[train],
        targets,
        rng,
        output_scale=OutputScale(mean, scale),
        regression=regression,
        **options,
    ).embedder


def test_a_network_ends_in_its_targets():
    network = fitted("likelihood", np.arange(300)).network
    assert isinstance(network[-1], ExpectedTarget)
    assert len(network[-1].targets) == 10
    assert len(fitted("squared", np.arange(300)).network) == 2


def test_the_embedding_lies_among_the_targets():
    points = fitted("likelihood", np.arange(300)).predict(X)
    # Of expected one-hot vectors every component is a chance, and all add up to one.
    assert points.min() > -1e-5
    np.testing.assert_allclose(points.sum(axis=1), 1, atol=1e-4)


def test_the_validation_part_is_scored_by_it_too():
    losses = []
    fitted(
        "likelihood",
        np.arange(300),
        validation_fraction=0.2,
        callback=lambda epoch: losses.append(epoch.validation_loss),
    )
    assert len(losses) == 6
    assert losses[-1] < losses[0] < math.log(10) + 0.2


def test_a_users_own_network_learns_by_it():
    torch.manual_seed(0)
    own = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 12))
    embedder = fitted("likelihood", np.arange(900), network=own)
    assert (embedder.predict(X[:900])[:, :10].argmax(axis=1) == Y[:900]).mean() > 0.7
