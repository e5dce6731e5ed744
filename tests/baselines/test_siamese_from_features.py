"""A Siamese network that starts as the features are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from torch import nn

from twofold import LabelRelation, SiameseLearner, load
from twofold.baselines import RawFeatures
from twofold.regression import Network

X, Y = make_blobs(60, 5, centers=4, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)
PAIRS = LabelRelation(Y).sample_pairs(2, 2, random_state=0)
FAST = {"n_components": 5, "start": "features", "random_state": 0, "device": "cpu"}
STILL = {"max_epochs": 1, "learning_rate": 1e-9}
EMBEDDERS = {
    "by name": "mlp",
    "the user's": nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 5)),
}
every_embedder = pytest.mark.parametrize("embedder", EMBEDDERS.values(), ids=EMBEDDERS)


def learner(architecture="mlp", training=STILL, **parameters):
    return SiameseLearner(**FAST | parameters, embedder=Network(architecture, **training))


@every_embedder
def test_it_begins_at_the_raw_metric(embedder):
    raw = RawFeatures().fit(X)
    untrained = learner(embedder).fit(X, relation=PAIRS)
    assert untrained.score(X, Y) == pytest.approx(raw.score(X, Y), abs=1e-6)
    ratio = untrained.pair_distance(X[:30], X[30:]) / raw.pair_distance(X[:30], X[30:])
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


def test_a_random_start_is_not_the_raw_metric():
    raw, at_random = RawFeatures().fit(X), learner(start="random").fit(X, relation=PAIRS)
    ratio = at_random.pair_distance(X[:30], X[30:]) / raw.pair_distance(X[:30], X[30:])
    assert ratio.std() > 0.05 * ratio.mean()


def test_fewer_components_are_the_leading_ones():
    wide = np.column_stack([30 * X[:, :2], X[:, 2:]])
    untrained = learner(n_components=2).fit(wide, relation=PAIRS)
    leading = RawFeatures().fit(wide[:, :2])
    assert untrained.score(wide, Y) == pytest.approx(leading.score(wide[:, :2], Y), abs=5e-3)


def test_more_components_than_features_are_taken():
    untrained = learner(n_components=9).fit(X, relation=PAIRS)
    assert untrained.transform(X).shape == (60, 9)
    assert untrained.score(X, Y) == pytest.approx(RawFeatures().fit(X).score(X, Y), abs=1e-6)


@every_embedder
def test_pairs_improve_on_the_features(embedder):
    rng = np.random.default_rng(0)
    noisy = X.copy()
    noisy[:, 4] = 20 * rng.normal(size=60)
    training = {"max_epochs": 60, "learning_rate": 0.01}
    learnt = learner(embedder, training).fit(noisy, relation=PAIRS)
    assert learnt.history_["training"][-1] < learnt.history_["training"][0]
    assert learnt.score(noisy, Y) > RawFeatures().fit(noisy).score(noisy, Y) + 0.1


@every_embedder
def test_what_was_learnt_is_saved_and_loaded(embedder, tmp_path):
    learnt = learner(embedder, {"max_epochs": 3}).fit(X, relation=PAIRS)
    own = None if isinstance(embedder, str) else EMBEDDERS["the user's"]
    again = load(learnt.save(tmp_path / "model"), embedder=own, device="cpu")
    assert again.start == "features"
    np.testing.assert_allclose(again.transform(X), learnt.transform(X), atol=1e-6)


def test_images_start_as_they_are_too():
    images = np.random.default_rng(0).integers(0, 256, size=(60, 1, 4, 4), dtype=np.uint8)
    untrained = learner(n_components=16).fit(images, relation=PAIRS)
    raw = RawFeatures().fit(images)
    assert untrained.score(images, Y) == pytest.approx(raw.score(images, Y), abs=1e-4)


@pytest.mark.parametrize("start", ["identity", None, 0])
def test_an_unknown_start_is_refused(start):
    with pytest.raises(ValueError, match=f"one of 'random', 'features', got {start!r}"):
        learner(start=start).fit(X, relation=PAIRS)


def test_no_components_are_refused():
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        learner(n_components=0).fit(X, relation=PAIRS)
