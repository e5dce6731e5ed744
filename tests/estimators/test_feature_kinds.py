"""Images, memory-mapped files and Datasets are features like any other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from little_problems import (
    FAST,
    OwnNetwork,
    Rows,
    beside_loud_noise,
    pairs_within,
    three_blobs,
)
from sklearn.datasets import load_digits
from torch import nn

from twofold import MetricLearner, SiameseLearner, TripletLearner, load

X, Y = three_blobs()


def digit_images(n_items: int = 60):
    """Return byte images of shape (n, 1, 16, 16), and their classes."""
    digits = load_digits()
    images = (digits.images[:n_items] * 15).astype(np.uint8)
    return images.repeat(2, axis=1).repeat(2, axis=2)[:, None], digits.target[:n_items]


@pytest.mark.parametrize("name", ["mlp", "mnist", "cifar10"])
def test_images_of_bytes_are_learnt_from(name):
    images, y = digit_images(24)
    learner = MetricLearner(embedder=name, flips=True, **{**FAST, "max_epochs": 1}).fit(images, y)
    assert learner.transform(images).shape == (24, 4)
    assert learner.input_shape_ == (1, 16, 16)


@pytest.mark.parametrize("of", [MetricLearner, SiameseLearner, TripletLearner])
@pytest.mark.parametrize("flips", [False, True])
def test_images_are_mirrored_in_training_if_asked(of, flips):
    half_black = np.zeros((30, 1, 2, 2), dtype=np.float32)
    half_black[..., 1] = np.arange(1, 31)[:, None, None]
    shown = []

    class Sees(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, items):
            if self.training:
                shown.append(items[..., 0].clone())
            return self.layer(items.flatten(1))

    of(embedder=Sees(), flips=flips, **FAST).fit(half_black, Y[:30])
    assert bool(torch.cat(shown).any()) == flips


def test_images_of_bytes_and_of_floats_give_the_same():
    images, y = digit_images()
    of_bytes = MetricLearner(**FAST).fit(images, y)
    of_floats = MetricLearner(**FAST).fit(images.astype(np.float32), y)
    np.testing.assert_array_equal(of_bytes.transform(images), of_floats.transform(images))


@pytest.mark.parametrize("as_tuples", [False, True])
def test_a_dataset_gives_what_its_array_gives(as_tuples):
    rows = Rows(X, as_tuples=as_tuples)
    learner = MetricLearner(**FAST).fit(rows, Y)
    plain = MetricLearner(**FAST).fit(X, Y)
    np.testing.assert_array_equal(learner.transform(rows), plain.transform(X))
    np.testing.assert_array_equal(plain.transform(rows), plain.transform(X))
    assert learner.score(rows, Y) == plain.score(X, Y)


@pytest.mark.parametrize("as_tuples", [False, True])
@pytest.mark.parametrize("feedback", ["auto", 0])
def test_pairs_of_a_dataset_give_what_pairs_of_its_array_give(as_tuples, feedback):
    features, y = beside_loud_noise()
    rows, relation = Rows(features, as_tuples=as_tuples), pairs_within(y)
    learner = MetricLearner(feedback=feedback, **FAST).fit(rows, relation=relation)
    plain = MetricLearner(feedback=feedback, **FAST).fit(features, relation=relation)
    np.testing.assert_array_equal(learner.transform(rows), plain.transform(features))
    assert learner.score(rows, relation=relation) == plain.score(features, relation=relation) > 0.5


def test_what_was_learnt_from_a_dataset_embeds_an_array():
    learner = MetricLearner(**FAST).fit(Rows(X), Y)
    np.testing.assert_array_equal(learner.transform(X), learner.transform(Rows(X)))


def test_a_dataset_makes_a_learner_forget_the_features_it_knew():
    learner = MetricLearner(**FAST).fit(X, Y).fit(Rows(X[:, :3]), Y)
    assert learner.transform(X[:, :3]).shape == (60, 4)


def test_what_was_learnt_from_a_dataset_is_loaded_again(tmp_path):
    learner = MetricLearner(**FAST).fit(Rows(X), Y)
    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_array_equal(again.transform(Rows(X)), learner.transform(Rows(X)))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_a_memory_mapped_array_gives_what_it_gives_in_memory(tmp_path, kind):
    values = (X * 10).astype(kind)
    np.save(tmp_path / "X.npy", values)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    learner = MetricLearner(**FAST).fit(mapped, Y)
    plain = MetricLearner(**FAST).fit(values, Y)
    np.testing.assert_array_equal(learner.transform(mapped), plain.transform(values))
    assert learner.n_features_in_ == 5
    assert learner.score(mapped, Y) == plain.score(values, Y)


def test_a_memory_mapped_array_of_images_is_read_as_bytes(tmp_path):
    images, y = digit_images()
    np.save(tmp_path / "X.npy", images)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    learner = MetricLearner(**FAST).fit(mapped, y)
    plain = MetricLearner(**FAST).fit(images, y)
    np.testing.assert_array_equal(learner.transform(mapped), plain.transform(images))


def test_a_users_network_is_copied_and_keeps_its_weights():
    network = OwnNetwork()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    learner = MetricLearner(embedder=network, **FAST).fit(X, Y)
    assert learner.embedder is network
    for name, tensor in network.state_dict().items():
        assert tensor.equal(before[name])
    trained = learner.embedder_.network[1].state_dict()
    assert not trained["layers.0.weight"].equal(before["layers.0.weight"])
    # Two epochs at a small rate move the weights that it had, and do not draw new ones.
    gap = (trained["layers.0.weight"] - before["layers.0.weight"]).abs().max()
    assert gap < 0.02
