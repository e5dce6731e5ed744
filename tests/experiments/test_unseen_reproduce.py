"""Kinds never seen in miniature: every method, on some of the digits, records and all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from twofold.experiments import (
    UNSEEN_METHODS,
    UNSEEN_PROTOCOLS,
    open_unseen,
    read_gallery,
    read_records,
    reproduce_unseen,
)
from twofold.experiments import _unseen_reproduce as reproduce_module
from twofold.experiments._methods import METHODS
from twofold.experiments._records import validate_record
from twofold.experiments._run import trains_network
from twofold.experiments._unseen_methods import UnseenConfig, small_conv
from twofold.experiments._unseen_run import unseen_configuration
from twofold.regression import fill_form

DIGITS = UNSEEN_PROTOCOLS["unseen-digits"]
OMNIGLOT = UNSEEN_PROTOCOLS["unseen-omniglot-1"]
OF_NETWORK = ("architecture", "max_epochs", "batch_size", "weight_decay", "augment")


class BreakOffError(Exception):
    """What a test breaks a run off with."""


def break_off(run, epoch, n_epochs, auroc):
    """Break off after some epochs, as a watcher."""
    if epoch == 4:
        raise BreakOffError


@pytest.fixture
def few_digits(monkeypatch):
    """Some of the digits, a few of those trained on held back."""

    def opened(protocol, data_dir=None):
        whole = open_unseen(protocol, data_dir)
        train, seen = (whole.train.take(slice(*ends)) for ends in ((0, 300), (300, 400)))
        return replace(whole, train=train, seen=seen, never_seen=whole.never_seen.take(slice(200)))

    monkeypatch.setattr(reproduce_module, "open_unseen", opened)


def run(folder, **options):
    given = {"epochs": 2, "device": "cpu"} | options
    return list(reproduce_unseen("unseen-digits", folder, **given))


@pytest.mark.usefixtures("few_digits")
def test_every_method_gives_a_valid_record_and_a_gallery(tmp_path):
    watched = []
    records = run(tmp_path, watch=lambda run, *where: watched.append((run.method.name, *where)))
    assert [record.method for record in records] == list(UNSEEN_METHODS)
    place = tmp_path / "unseen-digits"
    for record in records:
        validate_record(json.loads((place / f"{record.method}-seed0.json").read_text()), "it")
        assert record.scores is None
        assert set(record.seconds) == {"targets", "training", "metric", "rest"}
        assert record.data["n_train"] == 300
        assert (record.data["n_test"], record.data["n_seen_test"]) == (200, 100)
        assert (record.data["n_labels"], record.data["n_test_labels"]) == (5, 5)
        by_metric = {scores.metric: scores for scores in record.unseen.never_seen}
        assert {scores.metric for scores in record.unseen.seen} == set(by_metric)
        assert max(scores.auroc for scores in by_metric.values()) > 0.6, record.method
    metrics = {r.method: {s.metric for s in r.unseen.never_seen} for r in records}
    assert metrics["twofold-unseen"] == metrics["twofold-auto"] == {"cosine"}
    assert metrics["cross-entropy-whitened"] == {"cosine"}
    assert metrics["raw"] == metrics["siamese"] == {"euclidean", "cosine"}
    assert metrics["supcon"] == {"euclidean", "cosine", "dot"}
    assert {r.method: r for r in read_records(tmp_path)} == {r.method: r for r in records}
    assert not list(tmp_path.rglob(".*")), "what a run is kept in is removed"
    first = records[0].unseen.never_seen[0]
    told = [(0, 2, None), (1, 2, None), (2, 2, None), (2, 2, first.auroc)]
    assert watched[:4] == [("twofold-unseen", *where) for where in told]
    assert ("raw", 0, 0, max(s.auroc for s in records[2].unseen.never_seen)) in watched
    galleries = [read_gallery(place / f"{m}-seed0.gallery.json") for m in UNSEEN_METHODS]
    asked = {tuple(item.image for item in gallery.items) for gallery in galleries}
    assert len(asked) == 1, "all are asked for the same images"
    assert len({repr(gallery.items) for gallery in galleries}) > 1
    for item in galleries[0].items:
        assert item.image not in [neighbour.image for neighbour in item.neighbours]
        assert [n.alike for n in item.neighbours] == [
            n.label == item.label for n in item.neighbours
        ]


@pytest.mark.usefixtures("few_digits")
def test_whitening_helps_the_same_network_and_its_seconds_are_counted(tmp_path):
    plain, whitened = run(tmp_path, methods=("cross-entropy", "cross-entropy-whitened"))
    assert plain.seconds["metric"] < whitened.seconds["metric"]
    (cosine,) = (s for s in plain.unseen.never_seen if s.metric == "cosine")
    assert whitened.unseen.never_seen[0].auroc > cosine.auroc


@pytest.mark.usefixtures("few_digits")
def test_the_metric_step_s_seconds_are_counted(tmp_path):
    ours, siamese = run(tmp_path, methods=("twofold-unseen", "siamese"))
    assert ours.seconds["metric"] > 0
    assert ours.seconds["training"] > 0
    assert siamese.seconds["targets"] == 0
    assert siamese.seconds["metric"] < ours.seconds["metric"]


@pytest.mark.usefixtures("few_digits")
def test_the_same_seed_gives_the_same_scores_and_another_does_not(tmp_path):
    first, again = (run(tmp_path / place, methods=("twofold-auto",)) for place in "ab")
    other = run(tmp_path / "c", methods=("twofold-auto",), seeds=(1,))
    assert first[0].unseen == again[0].unseen
    assert first[0].unseen != other[0].unseen


@pytest.mark.usefixtures("few_digits")
def test_a_finished_run_is_not_run_again_and_other_settings_are_refused(tmp_path, monkeypatch):
    (record,) = run(tmp_path, methods=("siamese",))
    monkeypatch.setattr(reproduce_module, "run_unseen", lambda *_: pytest.fail("run again"))
    assert run(tmp_path, methods=("siamese",)) == [record]
    with pytest.raises(ValueError, match="other settings, or on another device"):
        run(tmp_path, methods=("siamese",), epochs=3)


@pytest.mark.usefixtures("few_digits")
def test_a_run_that_is_broken_off_goes_on_where_it_was(tmp_path):
    (whole,) = run(tmp_path / "whole", methods=("siamese",), epochs=6)
    with pytest.raises(BreakOffError):
        run(tmp_path / "cut", methods=("siamese",), epochs=6, watch=break_off)
    place = tmp_path / "cut" / "unseen-digits"
    assert list(place.glob(".siamese-seed0-*.safetensors"))
    assert not list(place.glob("*.json"))
    epochs = []
    (resumed,) = run(
        tmp_path / "cut",
        methods=("siamese",),
        epochs=6,
        watch=lambda run, epoch, n_epochs, auroc: epochs.append(epoch),
    )
    assert epochs[1] > 1
    for one, other in zip(resumed.unseen.never_seen, whole.unseen.never_seen, strict=True):
        assert one.auroc == pytest.approx(other.auroc, abs=1e-3)
    assert not list(place.glob(".*"))


@pytest.mark.usefixtures("few_digits")
def test_what_a_training_of_other_settings_left_behind_is_not_taken_up(tmp_path):
    with pytest.raises(BreakOffError):
        run(tmp_path, methods=("siamese",), epochs=6, watch=break_off)
    (kept,) = tmp_path.rglob(".siamese-seed0-*.safetensors")
    (record,) = run(tmp_path, methods=("siamese",), epochs=3)
    assert record.configuration["parameters"]["embedder__max_epochs"] == 3
    assert not kept.exists()


@pytest.mark.usefixtures("few_digits")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": ("twofold-unseen", "fml-c")}, "no method 'fml-c' for kinds never seen; there"),
        ({"epochs": 0}, "epochs"),
        ({"device": "quantum"}, "quantum"),
    ],
)
def test_a_mistake_is_said_before_anything_is_run(tmp_path, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_an_unknown_protocol_is_said(tmp_path):
    with pytest.raises(ValueError, match="'unseen-imagenet'"):
        list(reproduce_unseen("unseen-imagenet", tmp_path))


@pytest.mark.parametrize("name", ["unseen-mnist-0-4", "unseen-cifar10-5-9", "unseen-omniglot-1"])
def test_methods_share_network_and_training(name):
    config = UnseenConfig(UNSEEN_PROTOCOLS[name], 100, 5, 3, "cpu")
    keys = ["random_state", "device", *(f"embedder__{key}" for key in OF_NETWORK)]
    shared = {
        method.name: [repr(learner.get_params()[key]) for key in keys]
        for method in UNSEEN_METHODS.values()
        if trains_network(learner := method.make(config))
    }
    if name == "unseen-omniglot-1":  # modules, of which the last layer differs
        shared = {k: [v for v in values if "Conv2d" not in v] for k, values in shared.items()}
    assert len(shared) == 9
    assert all(values == shared["siamese"] for values in shared.values())


def test_a_rival_is_called_as_in_the_paper_s_protocol():
    for name in set(UNSEEN_METHODS) & set(METHODS):
        assert UNSEEN_METHODS[name].title == METHODS[name].title
    assert set(UNSEEN_METHODS) - set(METHODS) == {
        "twofold-unseen",
        "twofold-auto",
        "cross-entropy-whitened",
    }


def test_a_network_of_our_own_has_weights_of_the_seed_and_as_many_outputs_as_are_needed():
    def weights(seed, method="siamese"):
        config = UnseenConfig(OMNIGLOT, 100, 30, seed, "cpu")
        return UNSEEN_METHODS[method].make(config).embedder.architecture.state_dict()

    before = torch.get_rng_state()
    one, same, other = weights(0), weights(0), weights(1)
    assert torch.equal(torch.get_rng_state(), before), "torch's own generator is left alone"
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not all(torch.equal(one[key], other[key]) for key in one)
    n_outputs = {m: len(weights(0, m)["15.bias"]) for m in ("twofold-auto", "cross-entropy")}
    assert n_outputs == {"twofold-auto": 30, "cross-entropy": 30}
    assert len(one["15.bias"]) == 512


def test_the_small_network_takes_28_pixels():
    network = fill_form(small_conv(7), torch.Generator()).eval()
    assert network(torch.zeros(2, 1, 28, 28)).shape == (2, 7)


def test_a_configuration_names_the_training_and_nothing_of_its_wording():
    train = open_unseen(DIGITS).train
    method = UNSEEN_METHODS["twofold-unseen"]
    settings = unseen_configuration(DIGITS, method, train, 3)
    assert settings["parameters"]["metric"] == "unseen"
    assert settings["parameters"]["random_state"] == 3
    assert settings["protocol"]["split"] == {"first": 0, "last": 4, "tests_all": True}
    reworded = replace(DIGITS, title="another", trained_on="a", tested_on="b")
    assert unseen_configuration(reworded, method, train, 3) == settings
    module = unseen_configuration(OMNIGLOT, method, replace(train, labels=np.arange(901)), 0)
    assert module["protocol"]["network"] == "small-conv"
    assert "embedder__architecture" not in module["parameters"]
