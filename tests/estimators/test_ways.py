"""Each way learns what it is told to, from where it is told to."""

from __future__ import annotations

import numpy as np
import pytest
from little_trials import PAIRS, X, some_ways, watched_ways
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold.estimators import _ways as ways_module
from twofold.estimators._ways import Chosen
from twofold.regression import LandmarkMap, LinearPath, RegressorEmbedder


@pytest.mark.parametrize(
    ("loss", "is_triplets", "expected"),
    [("contrastive", False, "euclidean"), ("dot", False, "dot"), ("dot", True, "euclidean")],
)
def test_points_are_compared_as_their_loss_does(loss, is_triplets, expected):
    assert some_ways(loss=loss, is_triplets=is_triplets).metric == expected


def test_the_features_as_they_are_have_all_their_components():
    ways = some_ways(dim=2)
    learnt = ways.by_features()
    assert learnt.points.shape == (80, 5)
    np.testing.assert_array_equal(learnt.embedder.predict(X), learnt.points)
    np.testing.assert_array_equal(learnt.targets, learnt.points)


def test_a_map_s_functions_are_computed_once(monkeypatch):
    calls = []
    landmark_basis = ways_module.landmark_basis
    monkeypatch.setattr(
        ways_module,
        "landmark_basis",
        lambda *given: (calls.append(1), landmark_basis(*given))[1],
    )
    ways = some_ways()
    for _ in range(3):
        ways.by_map("landmarks", PAIRS, n_rounds=1)
    assert len(calls) == 1


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
@pytest.mark.parametrize("way", ["raw", "linear", "landmarks", "embedder"])
def test_what_was_chosen_is_learnt(way, embedder):
    learnt = some_ways(embedder).learn(Chosen(way, 2, "linear", 3), PAIRS)
    assert len(learnt) == (2 if way == "embedder" else 1)
    found = learnt[-1].embedder
    np.testing.assert_allclose(found.predict(X), learnt[-1].points, atol=1e-3)
    if embedder == "mlp":
        kind = LandmarkMap if way == "landmarks" else LinearPath
        assert isinstance(found.network, kind)
        assert way == "landmarks" or (found.network.body is not None) == (way == "embedder")
    else:
        assert isinstance(found, RegressorEmbedder)
        assert (found.path is not None) == (way in ("landmarks", "embedder"))


def test_an_embedder_begins_near_the_points_that_its_guide_finds():
    ways = watched_ways()
    guided, _ = ways.learn(Chosen("embedder", 2, "landmarks", 4), PAIRS)
    np.testing.assert_array_equal(ways.near, guided.points)
    expected = some_ways().by_map("landmarks", PAIRS, n_rounds=4).points
    np.testing.assert_allclose(guided.points, expected, atol=1e-3)


@pytest.mark.parametrize("embedder", ["mlp", KNeighborsRegressor(3)])
def test_an_embedder_goes_on_near_what_its_guide_finds_anew(embedder, monkeypatch):
    ways = watched_ways(embedder)
    chosen = Chosen("embedder", 2, "linear", 3)
    before = ways.learn(chosen, PAIRS)[-1].embedder
    ways.seen.clear()
    near = []
    refresh_network = ways_module.refresh_network

    def watched(network, lesson, points):
        near.append(points)
        return refresh_network(network, lesson, points)

    monkeypatch.setattr(ways_module, "refresh_network", watched)
    ways.refresh_embedder(before, chosen, PAIRS)
    assert ways.seen[0][0] == "linear"
    assert ways.seen[0][3] == 3
    found = near[0] if embedder == "mlp" else ways.near
    np.testing.assert_array_equal(found, ways.seen[0][5].points)
    if embedder != "mlp":
        assert ways.seen[1][3] == 1
