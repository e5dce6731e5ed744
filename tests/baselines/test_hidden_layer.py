"""A classifier's embedding: what its last layer is given, bit for bit."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from twofold import load
from twofold.baselines._classifier import BinaryCrossEntropy, ClassifierLearner, CrossEntropy
from twofold.baselines._hidden_layer import hidden_layer, refuse_other_heads
from twofold.regression import Chain, Network

X = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
Y = np.arange(30) % 3
FAST = {"random_state": 0, "device": "cpu"}


def own_network(n_outputs: int = 3, n_hidden: int = 7, bias: bool = True) -> nn.Sequential:
    relu = nn.ReLU()  # stands twice
    return nn.Sequential(
        OrderedDict(
            first=nn.Linear(5, 9),
            bend=relu,
            second=nn.Linear(9, n_hidden),
            bend_again=relu,
            head=nn.Linear(n_hidden, n_outputs, bias=bias),
        )
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_hidden_layer_is_the_input_of_the_last(bias):
    network = nn.Sequential(nn.Identity(), own_network(bias=bias))
    items = torch.from_numpy(X)
    hidden = hidden_layer(network)(items)
    assert torch.equal(hidden, network[1][:-1](items))
    weights = network[1].head
    outputs = nn.functional.linear(hidden, weights.weight, weights.bias)
    assert torch.equal(outputs, network(items))


def test_the_network_itself_is_left_as_it_is():
    network = nn.Sequential(nn.Identity(), own_network())
    before = network(torch.from_numpy(X))
    hidden_layer(network)
    assert torch.equal(network(torch.from_numpy(X)), before)


def test_the_embedding_is_the_activations_computed_by_hand():
    networks = []
    network = Network(max_epochs=2, callback=lambda epoch: networks.append(epoch.network))
    learner = ClassifierLearner(embedder=network, **FAST)
    embedded = learner.fit(X, Y).transform(X)
    trained = networks[-1]
    assert [layer.out_features for layer in trained[1] if isinstance(layer, nn.Linear)][-1] == 3
    with torch.no_grad():
        points = trained[0](torch.from_numpy(X)).numpy()
        for layer in [layer for layer in trained[1] if isinstance(layer, nn.Linear)][:-1]:
            weight, bias = layer.weight.numpy(), layer.bias.numpy()
            points = np.maximum(points @ weight.T + bias, 0)
    np.testing.assert_allclose(embedded, points, atol=1e-5)
    assert embedded.shape == (30, 512)
    assert learner.n_components_ == 512
    assert list(learner.get_feature_names_out()[:2]) == ["classifierlearner0", "classifierlearner1"]


def test_the_embedding_in_training_is_the_hidden_layer_too():
    seen = []
    network = Network(max_epochs=2, callback=lambda epoch: seen.append(epoch.embed(X)))
    learner = ClassifierLearner(embedder=network, **FAST).fit(X, Y)
    assert np.abs(seen[0] - seen[1]).max() > 1e-4
    np.testing.assert_allclose(seen[1], learner.transform(X), atol=1e-6)


def test_a_network_of_the_user_s_own_loses_its_last_layer():
    network = own_network()
    learner = ClassifierLearner(embedder=Network(network, max_epochs=2), **FAST).fit(X, Y)
    assert learner.transform(X).shape == (30, 7)
    assert network.head.out_features == 3


def test_a_network_of_the_user_s_own_is_saved_and_opened(tmp_path):
    learner = ClassifierLearner(embedder=Network(own_network(), max_epochs=2), **FAST).fit(X, Y)
    again = load(learner.save(tmp_path / "m"), embedder=own_network(7), device="cpu")
    np.testing.assert_allclose(again.transform(X), learner.transform(X), atol=1e-6)


class Branching(nn.Sequential):
    def forward(self, items):
        return super().forward(items) + 1


@pytest.mark.parametrize(
    ("embedder", "found"),
    [
        (Branching(nn.Flatten(), nn.Linear(5, 3)), "Branching"),
        (nn.Linear(5, 3), "Linear"),
        (nn.Sequential(), "Sequential"),
        (nn.Sequential(nn.Linear(5, 3)), "Sequential"),
        (nn.Sequential(nn.Linear(5, 3), nn.Softmax(1)), "Sequential, Softmax last"),
    ],
)
def test_other_networks_are_refused(embedder, found):
    with pytest.raises(TypeError, match=rf"that ends in nn\.Linear, got {found}\."):
        ClassifierLearner(embedder=embedder, **FAST).fit(X, Y)


@pytest.mark.parametrize("kind", [nn.Sequential, Chain])
def test_chains_that_end_in_a_linear_layer_are_taken(kind):
    refuse_other_heads(kind(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)), 3)


def test_a_wrong_number_of_outputs_is_refused():
    with pytest.raises(ValueError, match=r"each of 3 classes or labels, got 4: .*Linear\(7, 3\)"):
        ClassifierLearner(embedder=own_network(4), **FAST).fit(X, Y)


def test_cross_entropies_are_their_definitions():
    rng = np.random.default_rng(0)
    outputs, classes = rng.normal(size=(6, 3)), np.array([0, 1, 2, 0, 1, 1])
    chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    found = CrossEntropy()(torch.from_numpy(outputs), torch.from_numpy(classes))
    assert float(found) == pytest.approx(-np.log(chances[np.arange(6), classes]).mean())
    labels = rng.random((6, 3)) < 0.5
    chances = 1 / (1 + np.exp(-outputs))
    found = BinaryCrossEntropy()(torch.from_numpy(outputs), torch.from_numpy(labels))
    assert float(found) == pytest.approx(-np.log(np.where(labels, chances, 1 - chances)).mean())


def test_the_right_class_loses_less():
    right, wrong = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    assert CrossEntropy()(right, torch.tensor([0])) < CrossEntropy()(wrong, torch.tensor([0]))
    labels = torch.tensor([[True, False]])
    assert BinaryCrossEntropy()(right, labels) < BinaryCrossEntropy()(wrong, labels)
