"""`Network`: its parameters as scikit-learn sees them, every "auto", and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from torch import nn

from twofold.regression import (
    MILD,
    NETWORKS,
    STRONG,
    Augment,
    Network,
    TrainingConfig,
    as_network,
    fit_embedder,
    is_network,
    refuse_unknown_embedder,
    resolve_network,
)
from twofold.regression._network import FEWEST_STEPS

OWN = nn.Linear(4, 2)


def resolve(network: Network | None = None, regularisation=MILD, **rest) -> TrainingConfig:
    return resolve_network(network or Network(), regularisation, "cpu", **rest)


# ---- as a scikit-learn estimator ----


def test_parameters_are_got_and_set_by_name():
    network = Network("mnist", max_epochs=5, callback=print)
    parameters = network.get_params()
    assert parameters["architecture"] == "mnist"
    assert parameters["max_epochs"] == 5
    assert parameters["callback"] is print
    assert {name for name, value in parameters.items() if value == "auto"} == {
        "augment",
        "batch_size",
        "optimiser",
        "learning_rate",
        "weight_decay",
        "dropout",
        "loss",
        "layers",
    }
    assert network.set_params(batch_size=7, architecture="mlp") is network
    assert (network.batch_size, network.architecture) == (7, "mlp")


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'epochs'"):
        Network().set_params(epochs=3)


def test_a_clone_has_the_same_parameters_and_a_module_of_its_own():
    network = Network(OWN, learning_rate=0.1, augment="flips", checkpoint="training")
    copied = clone(network)
    assert copied.architecture is not OWN
    assert torch.equal(copied.architecture.weight, OWN.weight)
    others = {name: value for name, value in network.get_params().items() if name != "architecture"}
    assert {name: getattr(copied, name) for name in others} == others


def test_only_what_was_changed_is_shown():
    assert repr(Network("mlp", max_epochs=5)) == "Network(architecture='mlp', max_epochs=5)"


# ---- every "auto" ----


def test_what_auto_stands_for():
    config = resolve()
    assert config.architecture == "mlp"
    assert config.max_epochs == 30
    assert config.batch_size == 64
    assert config.learning_rate == 2e-3
    assert config.augment is None
    assert (config.optimiser, config.schedule) == ("adamw", "warm cosine")
    assert (config.averaged, config.views) == (0, 1)
    assert config.epoch_size is None
    assert config.device == "cpu"
    assert resolve(learning_rate=1e-3).learning_rate == 1e-3


@pytest.mark.parametrize("regularisation", [MILD, STRONG])
def test_auto_regularises_as_the_relation_asks(regularisation):
    config = resolve(Network(), regularisation)
    assert config.dropout == regularisation.dropout
    assert config.weight_decay == regularisation.weight_decay


def test_few_statements_are_regularised_more():
    assert (MILD.dropout, MILD.weight_decay) == (0.2, 0.03)  # as documented
    assert (STRONG.dropout, STRONG.weight_decay) == (0.5, 1)


@pytest.mark.parametrize("architecture", ["mnist", "cifar10", "pubfig83", "nuswide", OWN])
def test_networks_other_than_mlp_have_no_weight_decay_by_default(architecture):
    config = resolve(Network(architecture), STRONG)
    assert config.architecture is architecture
    assert config.weight_decay == 0
    assert resolve(Network(architecture, weight_decay=0.5)).weight_decay == 0.5


def test_what_is_given_is_kept():
    given = {"max_epochs": 3, "batch_size": 5, "learning_rate": 0.5, "dropout": 0.0}
    config = resolve(
        Network(**given, weight_decay=2.0, augment=Augment(flips=True)), STRONG, epoch_size=9
    )
    assert {name: getattr(config, name) for name in given} == given
    assert config.weight_decay == 2
    assert config.augment.get_params() == Augment(flips=True).get_params()
    assert config.epoch_size == 9


def test_numbers_of_numpy_are_numbers():
    network = Network(max_epochs=np.int64(3), learning_rate=np.float32(0.5), views=np.int64(2))
    config = resolve(network)
    assert type(config.views) is int
    assert type(config.max_epochs) is int
    assert type(config.learning_rate) is float


def test_resolving_leaves_the_network_as_it_was():
    network = Network()
    before = network.get_params()
    resolve(network)
    assert network.get_params() == before


@pytest.mark.parametrize(("architecture", "name"), [("mlp", "mlp"), (OWN, None)])
def test_a_network_of_your_own_has_no_name(architecture, name):
    assert resolve(Network(architecture)).name == name


# ---- images on a GPU ----


def on_gpu(network: Network | None = None, item_shape=(3, 32, 32), n_items=50_000):
    return resolve_network(
        network or Network(), MILD, "cuda", item_shape=item_shape, n_items=n_items
    )


def test_auto_is_a_fast_network_for_small_images_on_a_gpu_and_nowhere_else():
    assert on_gpu().architecture == "fast-conv"
    assert on_gpu(item_shape=(1, 28, 28)).architecture == "fast-conv"
    for item_shape in ((64,), (3, 8, 8), (3, 128, 128), ()):
        assert on_gpu(item_shape=item_shape).architecture == "mlp"
    assert resolve(item_shape=(3, 32, 32), n_items=50_000).architecture == "mlp"
    assert on_gpu(Network("mlp")).architecture == "mlp"
    assert on_gpu(Network("cifar10")).architecture == "cifar10"


@pytest.mark.parametrize("name", ["fast-conv", "deep-conv"])
def test_fast_networks_bring_their_recipe_on_any_device(name):
    for config in (on_gpu(Network(name)), resolve(Network(name), STRONG, n_items=50_000)):
        assert (config.optimiser, config.schedule) == ("muon", "linear")
        assert config.augment.shift > 0
        assert not config.augment.flips  # which would be wrong of characters
        assert config.weight_decay == 0
        assert config.batch_size > 64
        assert config.max_epochs < 30


def test_a_recipe_is_taken_in_parts():
    config = on_gpu(Network("fast-conv", optimiser="sgd", augment=None, batch_size=100))
    assert (config.optimiser, config.schedule) == ("sgd", "warm cosine")
    assert config.learning_rate == resolve(Network(optimiser="sgd")).learning_rate
    assert (config.augment, config.batch_size) == (None, 100)
    config = on_gpu(Network("mnist", optimiser="muon", augment="characters"))
    assert config.schedule == "linear"
    assert config.augment.rotation > 0
    assert on_gpu(Network("mnist")).optimiser == "adamw"


def test_few_images_come_in_smaller_batches():
    sizes = [on_gpu(n_items=n_items).batch_size for n_items in (20, 2000, 10_000, 10**6, None)]
    assert sizes == sorted(sizes[:-1]) + sizes[-2:-1]
    assert sizes[0] == 64  # as elsewhere
    assert all(size.bit_count() == 1 for size in sizes)
    for n_items in (2000, 5000, 10_000, 10**6):
        assert n_items / on_gpu(n_items=n_items).batch_size >= FEWEST_STEPS


# ---- what is refused ----


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"max_epochs": 0}, ValueError, "max_epochs must be at least 1, got 0"),
        ({"max_epochs": 2.5}, TypeError, "max_epochs must be an integer, got 2.5"),
        ({"max_epochs": "many"}, TypeError, "max_epochs must be an integer, got 'many'"),
        ({"batch_size": -4}, ValueError, "batch_size must be at least 1, got -4"),
        ({"batch_size": "all"}, TypeError, "batch_size must be an integer, got 'all'"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be finite and above 0, got 0"),
        ({"learning_rate": np.nan}, ValueError, "learning_rate must be finite .* got nan"),
        ({"learning_rate": None}, TypeError, "learning_rate must be a number, got None"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be finite and at least 0, got -1"),
        ({"dropout": 1}, ValueError, "dropout must be below 1, got 1"),
        ({"dropout": -0.1}, ValueError, "dropout must be finite and at least 0, got -0.1"),
        ({"augment": "crops"}, ValueError, "augment must be one of 'flips', .* got 'crops'"),
        ({"optimiser": "lion"}, ValueError, "optimiser must be one of 'auto', .* got 'lion'"),
        ({"averaged": 1}, ValueError, "averaged must be below 1, got 1"),
        ({"averaged": "half"}, TypeError, "averaged must be a number, got 'half'"),
        ({"views": 5}, ValueError, "views must be one of 1, 2, 3, 6, got 5"),
        ({"loss": "absolute"}, ValueError, "loss must be one of 'auto', .* got 'absolute'"),
        ({"architecture": "resnet"}, ValueError, "must be one of 'auto', 'mlp', .* got 'resnet'"),
        ({"architecture": Ridge()}, TypeError, "got Ridge. Pass a regressor as the embedder"),
        ({"architecture": nn.Linear}, TypeError, "Network takes the name .* got type"),
        ({"architecture": None}, TypeError, "Network takes the name .* got NoneType"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_value(parameters, error, sentence):
    with pytest.raises(error, match=sentence):
        resolve(Network(**parameters))


@pytest.mark.parametrize("size", [0, -3, 2.5])
def test_an_epoch_size_that_is_no_count_is_refused(size):
    with pytest.raises((ValueError, TypeError), match="epoch_size"):
        resolve(epoch_size=size)


@pytest.mark.parametrize(
    ("embedder", "error", "sentence"),
    [
        ("resnet", ValueError, "embedder must be one of 'auto', 'mlp', .* got 'resnet'"),
        (Ridge, TypeError, r"must be an instance, got the class Ridge: pass Ridge\(...\)"),
        (KMeans(), TypeError, "embedder must be .* got KMeans"),
        (3, TypeError, "embedder must be .* got int"),
        (np.zeros(3), TypeError, "embedder must be .* got ndarray"),
    ],
)
def test_what_is_neither_a_network_nor_a_regressor_is_refused(embedder, error, sentence):
    with pytest.raises(error, match=sentence):
        refuse_unknown_embedder(embedder)


def test_networks_and_regressors_are_told_apart():
    networks = ("auto", *NETWORKS, OWN, Network(), Network(OWN))
    assert all(is_network(embedder) for embedder in networks)
    for embedder in (*networks, Ridge()):
        refuse_unknown_embedder(embedder)
    assert not is_network(Ridge())
    assert not is_network(np.zeros(3))
    network = Network("mnist")
    assert as_network(network) is network
    assert as_network("mnist").architecture == "mnist"


# ---- what a module of your own is given ----


class Seeing(nn.Module):
    """Notes what it is shown."""

    seen: list[torch.Tensor] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, items):
        Seeing.seen.append(items)
        return self.layer(items.flatten(1))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_module_sees_bytes_divided_by_255_and_floats_as_they_are(dtype):
    assert "bytes (uint8) are divided by 255" in " ".join(Network.__doc__.split())
    X = np.random.default_rng(0).integers(0, 256, size=(12, 1, 2, 2)).astype(dtype)
    Seeing.seen.clear()
    config = resolve(Network(Seeing(), max_epochs=1, batch_size=12))
    embedder = fit_embedder(config, X, np.eye(12, 2, dtype=np.float32), np.random.default_rng(0))
    embedder.embedder.predict(X)
    expected = X / 255 if dtype == np.uint8 else X
    shown = [items for items in Seeing.seen if len(items) == 12]
    assert len(shown) >= 2  # in training, and in predicting
    for items in shown:
        assert items.dtype == torch.float32
        np.testing.assert_allclose(np.sort(items, axis=0), np.sort(expected, axis=0), rtol=1e-6)
