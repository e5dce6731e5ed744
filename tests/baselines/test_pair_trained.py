"""Siamese and triplet networks: MetricLearner's interface, another method."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import TensorDataset

from twofold import (
    LabelRelation,
    MetricLearner,
    PairRelation,
    SiameseLearner,
    TripletLearner,
    TripletRelation,
    load,
)
from twofold.regression import Network

X, Y = make_blobs(40, 5, centers=3, cluster_std=0.5, random_state=0)
X = X.astype(np.float32)
FAST = {
    "n_components": 4,
    "n_similar": 3,
    "n_dissimilar": 3,
    "embedder": Network(max_epochs=2),
    "random_state": 0,
    "device": "cpu",
}
LEARNERS = {
    "contrastive": SiameseLearner(**FAST),
    "cosine": SiameseLearner(loss="cosine", **FAST),
    "triplet": TripletLearner(**FAST),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def fresh(name: str, **parameters):
    return clone(LEARNERS[name]).set_params(**parameters)


def some_triplets() -> TripletRelation:
    rng = np.random.default_rng(0)
    a, p, n = rng.integers(40, size=(3, 2000))
    keep = (Y[a] == Y[p]) & (Y[a] != Y[n]) & (a != p)
    return TripletRelation(a[keep], p[keep], n[keep], 40)


@every_learner
def test_digits_that_were_not_seen_are_told_apart(name):
    digits, y = load_digits(return_X_y=True)
    digits = (digits / 16).astype(np.float32)
    learner = fresh(name, n_components=8, embedder__max_epochs=5).fit(digits[:200], y[:200])
    assert learner.score(digits[-300:], y[-300:]) > 0.8


@every_learner
def test_training_lowers_the_loss_and_raises_the_score(name):
    rng = np.random.default_rng(0)
    noisy = np.column_stack([X, 8 * rng.normal(size=(40, 10))]).astype(np.float32)
    still = Network(learning_rate=1e-9, max_epochs=1, weight_decay=0)
    before = fresh(name, embedder=still).fit(noisy, Y)
    after = fresh(name, embedder__max_epochs=8).fit(noisy, Y)
    assert after.history_["training"][-1] < after.history_["training"][0]
    assert after.score(noisy, Y) > before.score(noisy, Y)
    assert after.score(noisy, Y) > 0.9


@pytest.mark.parametrize(
    ("name", "metric"), [("contrastive", "euclidean"), ("cosine", "dot"), ("triplet", "euclidean")]
)
def test_points_are_compared_as_they_were_trained(name, metric):
    learner = fresh(name).fit(X, Y)
    assert learner.metric_ == metric
    a, b = learner.transform(X[:9]), learner.transform(X[9:18])
    similarity = (a * b).sum(axis=1) if metric == "dot" else -np.linalg.norm(a - b, axis=1)
    np.testing.assert_allclose(learner.pair_similarity(X[:9], X[9:18]), similarity, atol=1e-5)


def test_the_cosine_embedding_has_unit_length():
    learner = fresh("cosine").fit(X, Y)
    np.testing.assert_allclose(np.linalg.norm(learner.transform(X), axis=1), 1, atol=1e-5)


@every_learner
def test_the_embedding_is_what_the_network_gives(name):
    learner = fresh(name).fit(X, Y)
    points = learner.embedder_.predict(X)
    if name == "cosine":
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(learner.transform(X), points, atol=1e-6)


@every_learner
def test_what_was_learnt_is_told(name):
    seen = []
    learner = fresh(name, validation_fraction=0.2, embedder__callback=seen.append).fit(X, Y)
    assert [epoch.number for epoch in seen] == [1, 2]
    assert learner.history_["training"] == [epoch.loss for epoch in seen]
    assert learner.history_["validation"] == [epoch.validation_loss for epoch in seen]
    best = learner.history_["best_epoch"]
    assert learner.history_["validation"][best - 1] == min(learner.history_["validation"])
    assert learner.timing_["training"] == seen[-1].seconds
    assert learner.n_components_ == 4
    assert learner.n_features_in_ == 5


@every_learner
def test_a_callback_that_returns_true_stops(name):
    learner = fresh(name, embedder__callback=lambda _: True).fit(X, Y)
    assert len(learner.history_["training"]) == 1


@every_learner
def test_the_same_seed_gives_the_same_bytes(name):
    points = [fresh(name, random_state=k).fit(X, Y).transform(X).tobytes() for k in (1, 1, 2)]
    assert points[0] == points[1] != points[2]


@every_learner
def test_models_are_saved_pickled_and_loaded_with_their_threshold(name, tmp_path):
    learner = fresh(name).fit(X, Y)
    learner.calibrate_threshold(X, Y)
    called = learner.predict_pairs(X[:20], X[20:])
    for again in (load(learner.save(tmp_path / "m")), pickle.loads(pickle.dumps(learner))):
        assert type(again) is type(learner)
        np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-6)
        np.testing.assert_array_equal(again.predict_pairs(X[:20], X[20:]), called)
    learner.fit(X, Y)
    assert not hasattr(learner, "threshold_")


@every_learner
def test_learners_stand_in_pipelines_and_take_datasets(name):
    steps = make_pipeline(StandardScaler(), fresh(name)).fit(X, Y)
    assert steps.transform(X).shape == (40, 4)
    rows = TensorDataset(torch.from_numpy(X))
    points = fresh(name).fit(rows, Y).transform(rows)
    np.testing.assert_allclose(points, fresh(name).fit(X, Y).transform(X), atol=1e-4)


@every_learner
def test_pairs_are_learnt_from(name):
    relation = LabelRelation(Y).sample_pairs(4, 4, random_state=0)
    learner = fresh(name, embedder__max_epochs=4).fit(X, relation=relation)
    assert learner.score(X, Y) > 0.9


@every_learner
def test_labels_are_sampled_with_the_partners_asked_for(name):
    fresh(name, n_similar=2, n_dissimilar=3, embedder=counting()).fit(X, Y)
    items = max(Counting.sizes)
    assert items == (40 * 2 * 3 if name == "triplet" else 40 * 5 * 2)


@every_learner
def test_the_validation_loss_is_that_of_statements_held_out(name):
    fresh(name, validation_fraction=0.25, embedder=counting()).fit(X, Y)
    n_trained, n_validated = max(Counting.sizes), max(Counting.sizes_untrained)
    assert n_validated == pytest.approx(n_trained / 3, rel=0.15)


class Counting(nn.Module):
    """A network that notes how many items it is shown at a time."""

    sizes: list[int] = []  # noqa: RUF012
    sizes_untrained: list[int] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)
        Counting.sizes.clear()
        Counting.sizes_untrained.clear()

    def forward(self, items):
        (Counting.sizes if self.training else Counting.sizes_untrained).append(len(items))
        return self.layer(items)


def counting() -> Network:
    return Network(Counting(), max_epochs=2, batch_size=10_000)


def test_triplets_are_learnt_from_as_they_are():
    learner = fresh("triplet", embedder__max_epochs=4).fit(X, relation=some_triplets())
    assert learner.score(X, relation=some_triplets()) > 0.95
    assert learner.score(X, Y) > 0.9


def test_the_margin_reaches_the_loss():
    small = fresh("contrastive", margin=0.1, embedder__max_epochs=5).fit(X, Y)
    large = fresh("contrastive", margin=5.0, embedder__max_epochs=5).fit(X, Y)
    apart = Y[:20] != Y[20:]
    gaps = [learner.pair_distance(X[:20], X[20:])[apart].mean() for learner in (small, large)]
    assert gaps[1] > 2 * gaps[0]


@pytest.mark.parametrize("loss", ["contrastive", "cosine"])
def test_triplets_for_a_siamese_network_are_refused(loss):
    with pytest.raises(TypeError, match="learns from pairs or labels; for triplets use TripletLe"):
        SiameseLearner(loss=loss, **FAST).fit(X, relation=some_triplets())


@every_learner
@pytest.mark.parametrize("embedder", [Ridge(), "resnet", nn.Linear])
def test_what_is_no_network_is_refused(name, embedder):
    with pytest.raises(TypeError, match="trains a network: embedder must be"):
        fresh(name).set_params(embedder=embedder).fit(X, Y)


@every_learner
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"margin": 0.0}, "margin must be finite and above 0"),
        ({"embedder__max_epochs": 0}, "max_epochs must be at least 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be below 1"),
        ({"embedder": nn.Linear(5, 3)}, r"\(2, 4\) for 2 items, got \(2, 3\)"),
        ({"embedder": "cifar10"}, "takes images"),
        ({"device": "tpu"}, "device must be 'auto'"),
    ],
)
def test_wrong_parameters_are_refused_as_by_the_metric_learner(name, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        fresh(name, **parameters).fit(X, Y)


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="loss must be one of 'contrastive', 'cosine', got 'dot'"):
        SiameseLearner(loss="dot").fit(X, Y)


@every_learner
def test_wrong_data_are_refused_as_by_the_metric_learner(name):
    wrong = X.copy()
    wrong[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        fresh(name).fit(wrong, Y)
    with pytest.raises(ValueError, match="about 41 items, but X has 40 rows"):
        fresh(name).fit(X, relation=PairRelation([0, 1], [1, 2], [1, 0], 41))
    with pytest.raises(ValueError, match="no dissimilar pair"):
        fresh(name).fit(X, relation=PairRelation([0, 1], [1, 2], [1, 1], 40))
    with pytest.raises(ValueError, match=f"{type(LEARNERS[name]).__name__} requires y"):
        fresh(name).fit(X)
    with pytest.raises(NotFittedError):
        fresh(name).transform(X)


@every_learner
def test_out_of_memory_names_the_batch_size_to_try(name):
    class Full(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(5, 4)

        def forward(self, items):
            if self.training:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
            return self.layer(items)

    with pytest.raises(MemoryError, match=r"batch_size=64\. Try batch_size=16"):
        fresh(name, embedder=Full()).fit(X, Y)


@every_learner
def test_the_rivals_differ_from_the_metric_learner_in_the_method_only(name):
    ours = MetricLearner().get_params()
    theirs = LEARNERS[name].get_params()
    of_pairs = {"n_similar", "n_dissimilar", "margin", "loss", "start", "epoch_size"}
    nested = {key for key in theirs if key.startswith("embedder__")}
    assert set(theirs) - set(ours) - nested <= of_pairs
    assert set(ours) - set(theirs) == {"targets", "feedback", "metric"}


@every_learner
def test_unknown_rows_are_in_no_pair(name):
    y = np.where(np.arange(40) % 4 == 0, -1, Y)
    seen = set()

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(5, 4)

        def forward(self, items):
            if self.training:
                seen.update(items[:, 0].tolist())
            return self.layer(items)

    fresh(name, embedder=Watched()).fit(X, y)
    assert not seen & set(X[::4, 0].tolist())
    assert len(seen) == 30
