"""Rivals that learn from labels: one interface, whatever the loss."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import TensorDataset

from twofold import LabelRelation, MetricLearner, PairRelation, TripletRelation, load
from twofold._core.warnings import RelationWarning
from twofold.baselines._batch_loss_learner import BatchLossLearner
from twofold.baselines._batch_task import BatchTask
from twofold.baselines._classifier import ClassifierLearner
from twofold.baselines._fixed_targets import FixedTargetLearner
from twofold.baselines._labelled_items import LabelledItems
from twofold.baselines._nonlinear_nca import NonlinearNCALearner
from twofold.evaluation import knn_accuracy
from twofold.regression import Network, open_features

X, Y = make_blobs(40, 5, centers=3, cluster_std=0.5, random_state=0)
X = X.astype(np.float32)
BOTH = (Y == 2) | ((Y == 1) & (np.arange(40) % 2 == 0))
LABELS = np.stack([Y == 0, Y == 1, Y == 2, BOTH], axis=1).astype(int)
FAST = {"embedder": Network(max_epochs=2), "random_state": 0, "device": "cpu"}
LEARNERS = {
    "nca": NonlinearNCALearner(4, **FAST),
    "nca-expected": NonlinearNCALearner(4, loss="expected", **FAST),
    "classifier": ClassifierLearner(**FAST),
    "one-hot": FixedTargetLearner(**FAST),
    "simplex": FixedTargetLearner("simplex", **FAST),
    "supcon": BatchLossLearner(4, **FAST),
    "proxy-anchor": BatchLossLearner(4, loss="proxy-anchor", **FAST),
    "multi-similarity": BatchLossLearner(4, loss="multi-similarity", **FAST),
    "triplet": BatchLossLearner(4, loss="triplet", **FAST),
}
UNIT = {"supcon", "proxy-anchor", "multi-similarity", "triplet"}
N_OUTPUTS = {"classifier": 3, "one-hot": 3, "simplex": 2}
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_kind = pytest.mark.parametrize(  # the others differ from one of these in the loss alone
    "name", ["nca", "classifier", "simplex", "supcon", "proxy-anchor"]
)
learns_from_several_labels = pytest.mark.parametrize(
    "name", ["nca", "nca-expected", "classifier", "one-hot"]
)


def fresh(name: str, **parameters):
    return clone(LEARNERS[name]).set_params(**parameters)


class Watching(nn.Module):
    """A layer that notes which items it is shown in training, by their first feature."""

    seen: set[float] = set()  # noqa: RUF012

    def forward(self, items):
        if self.training:
            Watching.seen.update(items[:, 0].tolist())
        return items


def watched(name: str) -> nn.Sequential:
    Watching.seen.clear()
    return nn.Sequential(
        Watching(), nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, N_OUTPUTS.get(name, 4))
    )


@every_learner
def test_digits_that_were_not_seen_have_the_right_neighbours(name):
    digits, y = load_digits(return_X_y=True)
    digits = (digits / 16).astype(np.float32)
    train, test, train_y, test_y = train_test_split(digits, y, train_size=700, random_state=0)
    learner = (
        fresh(name, embedder__max_epochs=10).set_params(**components(name, 16)).fit(train, train_y)
    )
    points = learner.transform(train), learner.transform(test)
    assert knn_accuracy(points[0], train_y, points[1], test_y, metric=learner.metric_) >= 0.95


def components(name: str, value: int) -> dict[str, int]:
    return {} if name in N_OUTPUTS else {"n_components": value}


@every_learner
def test_points_are_compared_as_they_were_trained(name):
    learner = fresh(name).fit(X, Y)
    points = learner.transform(X)
    assert learner.metric_ == ("dot" if name in UNIT else "euclidean")
    assert points.dtype == np.float32
    assert points.shape == (40, learner.n_components_)
    if name in UNIT:
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)


@every_learner
def test_training_raises_the_score(name):
    noisy = np.column_stack([X, 8 * np.random.default_rng(0).normal(size=(40, 10))])
    still = Network(learning_rate=1e-9, max_epochs=1, weight_decay=0)
    before = fresh(name, embedder=still).fit(noisy, Y)
    after = fresh(name, embedder__max_epochs=20).fit(noisy, Y)
    assert after.score(noisy, Y) > max(0.9, before.score(noisy, Y))


@every_kind
def test_what_was_learnt_is_told(name):
    seen = []
    learner = fresh(name, validation_fraction=0.25, embedder__callback=seen.append).fit(X, Y)
    assert [epoch.number for epoch in seen] == [1, 2]
    assert learner.history_["training"] == [epoch.loss for epoch in seen]
    assert learner.history_["validation"] == [epoch.validation_loss for epoch in seen]
    best = learner.history_["best_epoch"]
    assert learner.history_["validation"][best - 1] == min(learner.history_["validation"])
    assert learner.timing_["training"] == seen[-1].seconds
    assert learner.n_features_in_ == 5


@every_kind
def test_the_embedding_in_training_is_that_of_the_learner(name):
    seen = []
    learner = fresh(name, embedder__callback=lambda epoch: seen.append(epoch.embed(X))).fit(X, Y)
    np.testing.assert_allclose(seen[-1], learner.transform(X), atol=1e-6)


@every_kind
def test_items_held_out_are_not_trained_on(name):
    fresh(name, validation_fraction=0.25, embedder=watched(name)).fit(X, Y)
    assert len(Watching.seen) == 30


@every_kind
def test_rows_of_unknown_class_are_left_out(name):
    y = np.where(np.arange(40) % 4 == 0, -1, Y)
    fresh(name, embedder=watched(name)).fit(X, y)
    assert Watching.seen == set(np.delete(X[:, 0], np.arange(0, 40, 4)).tolist())


@every_kind
def test_the_same_seed_gives_the_same_bytes(name):
    points = [fresh(name, random_state=k).fit(X, Y).transform(X).tobytes() for k in (1, 1, 2)]
    assert points[0] == points[1] != points[2]


@every_kind
def test_the_global_generator_is_left_alone(name):
    before = torch.get_rng_state()
    fresh(name).fit(X, Y)
    assert torch.equal(torch.get_rng_state(), before)


@every_kind
def test_models_are_saved_pickled_and_loaded(name, tmp_path):
    learner = fresh(name).fit(X, Y)
    learner.calibrate_threshold(X, Y)
    called = learner.predict_pairs(X[:20], X[20:])
    saved = load(learner.save(tmp_path / "m"), device="cpu")
    for again in (saved, pickle.loads(pickle.dumps(learner)), load(saved.save(tmp_path / "n"))):
        assert type(again) is type(learner)
        np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-6)
        assert again.n_components_ == learner.n_components_
        np.testing.assert_array_equal(again.predict_pairs(X[:20], X[20:]), called)


@every_kind
def test_a_fitted_learner_is_cloned_unfitted_with_its_parameters(name):
    learner = fresh(name).fit(X, Y)
    assert repr(clone(learner)) == repr(LEARNERS[name])
    assert not hasattr(clone(learner), "embedder_")
    assert set(vars(clone(learner))) == set(learner.get_params(deep=False))


@every_kind
def test_images_are_learnt_from_and_mirrored(name):
    digits = load_digits()
    images = (digits.images[:120, None] / 16).astype(np.float32)
    learner = fresh(name, embedder=Network("mnist", augment="flips", max_epochs=3))
    learner.fit(images, digits.target[:120])
    assert learner.transform(images).shape == (120, learner.n_components_)
    assert learner.score(images, digits.target[:120]) > 0.7


@every_kind
def test_datasets_and_relations_are_learnt_from_as_arrays_and_labels_are(name):
    rows = TensorDataset(torch.from_numpy(X))
    points = fresh(name).fit(rows, relation=LabelRelation(Y)).transform(rows)
    np.testing.assert_allclose(points, fresh(name).fit(X, Y).transform(X), atol=1e-4)


@learns_from_several_labels
def test_several_labels_an_item_are_learnt_from(name):
    learner = fresh(name, embedder__max_epochs=10, validation_fraction=0.1).fit(X, LABELS)
    assert learner.score(X, LABELS) > 0.75


@learns_from_several_labels
def test_items_without_a_label_are_known_to_have_none(name):
    labels = LABELS.copy()
    labels[:3] = 0
    with pytest.warns(RelationWarning, match="3 of 40 rows have no label"):
        fresh(name).fit(X, labels)


@pytest.mark.parametrize("name", sorted(UNIT))
def test_several_labels_are_refused_where_classes_are_needed(name):
    with pytest.raises(ValueError, match="learns from classes, but some items have several labels"):
        fresh(name).fit(X, LABELS)


@pytest.mark.parametrize("name", sorted(UNIT | {"nca"}))
def test_a_batch_of_one_is_refused(name):
    with pytest.raises(ValueError, match="batch_size must be at least 2, got 1"):
        fresh(name, embedder__batch_size=1).fit(X, Y)


@every_kind
@pytest.mark.parametrize(
    "relation", [PairRelation([0, 1], [1, 2], [1, 0], 40), TripletRelation([0], [1], [2], 40)]
)
def test_pairs_and_triplets_are_refused(name, relation):
    kind = type(relation).__name__
    with pytest.raises(
        TypeError, match=f"learns from classes, but got a {kind}; for pairs use Siam"
    ):
        fresh(name).fit(X, relation=relation)


@every_kind
@pytest.mark.parametrize("embedder", [Ridge(), "resnet", nn.Linear])
def test_what_is_no_network_is_refused(name, embedder):
    with pytest.raises(TypeError, match="trains a network: embedder must be a Network, the name"):
        fresh(name).set_params(embedder=embedder).fit(X, Y)


@every_kind
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"embedder__max_epochs": 0}, "max_epochs must be at least 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be below 1"),
        ({"embedder__augment": "flips"}, "augment changes images of shape"),
        ({"device": "tpu"}, "device must be 'auto'"),
    ],
)
def test_wrong_parameters_are_refused_as_by_the_metric_learner(name, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        fresh(name, **parameters).fit(X, Y)


@pytest.mark.parametrize(("name", "other"), [("nca", "dot"), ("supcon", "nca")])
def test_an_unknown_loss_is_refused(name, other):
    with pytest.raises(ValueError, match=f"loss must be one of .*, got '{other}'"):
        fresh(name, loss=other).fit(X, Y)


@every_learner
def test_the_rivals_differ_from_the_metric_learner_in_the_method_only(name):
    ours, theirs = MetricLearner().get_params(), type(LEARNERS[name])().get_params()
    own = {"loss", "targets", "n_components", "smoothing", "validation_fraction"}
    assert set(theirs) - set(ours) <= {"loss", "smoothing"}
    assert all(theirs[key] == ours[key] for key in set(theirs) - own)


def test_items_held_out_are_in_random_order():
    held_out = LabelledItems.of(LabelRelation(np.repeat([0, 1], 200))).part(
        0.5, np.random.default_rng(0)
    )[1]
    assert 0.3 < held_out.labels[:100].mean() < 0.7


def test_labels_stay_with_their_items():
    y = np.where(np.arange(40) % 4 == 0, -1, Y)
    for part in LabelledItems.of(LabelRelation(y)).part(0.3, np.random.default_rng(0)):
        np.testing.assert_array_equal(part.labels, y[part.items])
    several = LabelledItems.of(LabelRelation(LABELS)).part(0.3, np.random.default_rng(0))
    for part in several:
        np.testing.assert_array_equal(part.labels, LABELS[part.items])


def test_a_task_shows_a_batch_to_its_loss():
    class First:
        is_recordable = False

        def __call__(self, points, labels):
            return (points[:, 0] * labels).sum()

    labelled = LabelledItems(np.array([3, 8, 1]), np.array([1, 2, 3]))
    task = BatchTask(open_features(X, "cpu"), labelled, First(), "cpu")
    loss = task.loss(nn.Identity(), torch.tensor([2, 0]))
    assert float(loss) == pytest.approx(3 * X[1, 0] + X[3, 0], rel=1e-6)
    assert task.n_examples == 3
    assert not task.is_recordable
