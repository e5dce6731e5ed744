"""The paper's constants, as DESIGN.md has them, and the sets' parts."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.experiments import PROTOCOLS
from twofold.experiments._examples import draw_examples
from twofold.experiments._following import evaluated_epochs
from twofold.experiments._methods import METHODS, RunConfig
from twofold.experiments._paper import N_EVALUATIONS
from twofold.experiments._run import configuration, trains_network
from twofold.experiments._sets import Part, open_set, part_validation
from twofold.regression import NETWORKS

PAPER = {
    "mnist": (16, False, (6.90, 21.77), (0.976, 0.978, 0.972)),
    "cifar10": (16, True, (5.19, 15.89), (0.806, 0.806, 0.734)),
    "pubfig83": (64, True, (1.94, 6.86), (0.777, 0.768, 0.335)),
    "nuswide": (32, True, (46.43, 152.30), (0.427, 0.229, 0.393)),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_constants_stand_as_in_the_paper(name):
    n_components, flips, seconds, neighbours = PAPER[name]
    protocol = PROTOCOLS[name]
    assert (protocol.n_components, protocol.flips) == (n_components, flips)
    assert protocol.network == name
    assert protocol.network in NETWORKS
    assert tuple(protocol.paper.targets_seconds.values()) == seconds
    assert tuple(protocol.paper.neighbours[m] for m in ("fml-c", "fml-dp", "siamese")) == neighbours
    assert protocol.neighbour_metrics == ("euclidean",)


def test_fml_is_the_estimator_that_design_md_names():
    for name in ("fml-c", "fml-dp"):
        learner = METHODS[name].make(RunConfig(PROTOCOLS["mnist"], 100, 0, "cpu"))
        assert (learner.n_components, learner.targets) == (16, name)


def test_methods_share_network_and_training():
    config = RunConfig(PROTOCOLS["cifar10"], 100, 0, "cpu")
    of_network = ("architecture", "batch_size", "learning_rate", "weight_decay", "augment")
    shared = ("random_state", "device", *(f"embedder__{name}" for name in of_network))
    parameters = {
        name: [learner.get_params()[key] for key in shared]
        for name, method in METHODS.items()
        if trains_network(learner := method.make(config))
    }
    assert len(parameters) == 15
    assert all(values == parameters["fml-c"] for values in parameters.values())


def test_a_configuration_names_the_training_and_nothing_of_the_machine():
    for name, n_epochs in (("twofold", 50), ("siamese", 200)):
        parameters = configuration(PROTOCOLS["cifar10"], METHODS[name], 100, 3)["parameters"]
        assert parameters["embedder__max_epochs"] == n_epochs
        assert parameters["embedder__augment"] == "flips"
        assert parameters["random_state"] == 3
        assert not {"embedder", "embedder__callback", "embedder__checkpoint"} & set(parameters)
        assert not {"device", "verbose"} & set(parameters)


def test_train_and_test_pairs_are_drawn_apart_and_no_item_is_in_two_parts():
    data = open_set("digits", None)
    examples = draw_examples(data, seed=0)
    n_train = len(data.train.labels)
    assert len(examples.fitted.labels) + len(examples.validation.labels) == n_train
    assert examples.pairs.n_items == len(examples.fitted.labels)
    assert examples.test_pairs.n_items == len(data.test.labels) == 450
    assert examples.pairs.n_pairs == 20 * examples.pairs.n_items
    same = (
        examples.fitted.labels[examples.pairs.left] == examples.fitted.labels[examples.pairs.right]
    )
    np.testing.assert_array_equal(same, examples.pairs.similar == 1)
    other = draw_examples(data, seed=1)
    assert not np.array_equal(other.validation.labels, examples.validation.labels)


def test_features_in_a_file_are_cut_in_two_and_stay_there(tmp_path):
    stored = np.memmap(tmp_path / "x", dtype=np.uint8, mode="w+", shape=(50, 3, 4, 4))
    fitted, validation = part_validation(Part(stored, np.arange(50)), seed=0)
    assert isinstance(fitted.features, np.memmap)
    np.testing.assert_array_equal(validation.labels, np.arange(5))
    np.testing.assert_array_equal(fitted.labels, np.arange(5, 50))


def test_few_items_are_held_out_of_many():
    part = Part(np.zeros((60_000, 1), dtype=np.uint8), np.zeros(60_000))
    assert len(part_validation(part, 0)[1].labels) == 2000


@pytest.mark.parametrize("n_epochs", [1, 2, 3, 10, 60, 200])
def test_first_and_last_epochs_are_evaluated(n_epochs):
    epochs = evaluated_epochs(n_epochs)
    assert {1, n_epochs} <= epochs
    assert max(epochs) == n_epochs
    assert len(epochs) <= N_EVALUATIONS
