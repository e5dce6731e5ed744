"""The whole chain in miniature: every method, on a few hundred digits, records and all."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from twofold.experiments import (
    METHODS,
    PROTOCOLS,
    choose_methods,
    read_gallery,
    read_record,
    read_records,
    reproduce,
)
from twofold.experiments import _reproduce as reproduce_module
from twofold.experiments import _run as run_module
from twofold.experiments import _sets as sets_module
from twofold.experiments._records import validate_record
from twofold.experiments._sets import open_set

N_FEW = 300


class BreakOffError(Exception):
    """What a test breaks a run off with."""


def break_off(*arguments, **options):
    """Break off: as a watcher, after some epochs; as anything else, at once."""
    if len(arguments) != 4 or arguments[1] >= 5:
        raise BreakOffError


@pytest.fixture
def few_digits(monkeypatch):
    """Digits, but only some hundred of them, and phase 1 timed twice."""

    def opened(name, data_dir):
        whole = open_set(name, data_dir)
        train, test = (part.take(np.arange(N_FEW)) for part in (whole.train, whole.test))
        return replace(whole, train=train, test=test)

    monkeypatch.setattr(reproduce_module, "open_set", opened)
    monkeypatch.setattr("twofold.experiments._phase_1.N_PHASE_1", 2)


def run(folder, **options):
    return list(reproduce("digits", folder, **{"epochs": 2, "device": "cpu"} | options))


@pytest.mark.usefixtures("few_digits")
def test_every_method_gives_a_valid_record(tmp_path):
    watched = []
    records = run(
        tmp_path,
        methods=tuple(METHODS),
        watch=lambda run, epoch, n_epochs, auroc: watched.append((run.method.name, epoch)),
    )
    assert [record.method for record in records] == list(METHODS)
    for record in records:
        content = json.loads((tmp_path / "digits" / f"{record.method}-seed0.json").read_text())
        validate_record(content, record.method)
        assert record.data["n_train"] == 0.9 * N_FEW
        assert record.data["n_validation"] == 0.1 * N_FEW
        assert record.data["n_pairs"] == 20 * 0.9 * N_FEW
        assert record.scores.neighbours > 0.5, record.method
        assert record.scores.auroc == record.curve[-1].auroc
        assert set(record.scores.retrieval) >= {"recall_at_1", "map_at_r"}
    epochs = {record.method: [point.epoch for point in record.curve] for record in records}
    assert epochs["fml-c"] == epochs["one-hot"] == [1, 2]
    assert epochs["siamese"][-1] == 13  # 2 of 30 epochs, so 2/30 of 200
    assert epochs["nca"] == epochs["raw"] == [0]
    assert ("siamese", 13) in watched
    stored = {record.method: record for record in read_records(tmp_path)}
    assert stored == {record.method: record for record in records}
    assert not list(tmp_path.rglob(".*")), "what a run is kept in is removed"
    shown = read_gallery(tmp_path / "digits" / "twofold-seed0.gallery.json")
    assert len(shown.items) == 12
    assert all(len(item.neighbours) == 5 for item in shown.items)


@pytest.mark.usefixtures("few_digits")
def test_phase_1_is_counted_in_and_timed_on_its_own(tmp_path):
    fml, siamese = run(tmp_path, methods=("fml-c", "siamese"))
    assert len(fml.targets_seconds) == 2
    assert siamese.targets_seconds == ()
    assert fml.seconds["targets"] > 0
    assert siamese.seconds["targets"] == 0
    assert fml.curve[0].seconds > fml.seconds["targets"]
    assert fml.curve[-1].seconds <= sum(fml.seconds.values()) + 1e-9
    seconds = [point.seconds for point in siamese.curve]
    assert seconds == sorted(seconds)


@pytest.mark.usefixtures("few_digits")
def test_the_epoch_is_the_one_the_validation_part_likes_best(tmp_path):
    (record,) = run(tmp_path, methods=("fml-dp",), epochs=8)
    best = max(point.validation for point in record.curve)
    last = max(point.epoch for point in record.curve if point.validation == best)
    assert record.scores.validation == best
    assert record.scores.epoch == last


@pytest.mark.usefixtures("few_digits")
def test_the_same_seed_gives_the_same_scores_and_another_does_not(tmp_path):
    options = {"methods": ("twofold", "siamese")}
    first = run(tmp_path / "a", **options)
    again = run(tmp_path / "b", **options)
    other = run(tmp_path / "c", seeds=(1,), **options)
    assert [record.scores for record in first] == [record.scores for record in again]
    assert [record.scores for record in first] != [record.scores for record in other]


@pytest.mark.usefixtures("few_digits")
def test_a_finished_run_is_not_run_again(tmp_path, monkeypatch):
    (record,) = run(tmp_path, methods=("twofold",))
    monkeypatch.setattr(reproduce_module, "run_method", lambda *_: pytest.fail("it was run again"))
    assert run(tmp_path, methods=("twofold",)) == [record]


@pytest.mark.usefixtures("few_digits")
def test_a_record_of_other_settings_is_neither_taken_nor_lost(tmp_path):
    run(tmp_path, methods=("twofold",))
    path = tmp_path / "digits" / "twofold-seed0.json"
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match="other settings, or on another device: choose another folder"
    ):
        run(tmp_path, methods=("twofold",), epochs=3)
    assert path.read_bytes() == before


def kill(run, epoch, n_epochs, auroc):
    """End the process after some epochs, as the system does, with no time to tidy up."""
    if epoch == 5:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.usefixtures("few_digits")
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    (whole,) = run(tmp_path / "whole", methods=("siamese",))
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            run(tmp_path / "cut", methods=("siamese",), watch=kill)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    place = tmp_path / "cut" / "digits" / ".siamese-seed0"
    seen = json.loads((place / "progress.json").read_text())["curve"]
    assert not (tmp_path / "cut" / "digits" / "siamese-seed0.json").exists()

    (resumed,) = run(tmp_path / "cut", methods=("siamese",))
    aurocs = [[point.auroc for point in record.curve] for record in (resumed, whole)]
    np.testing.assert_allclose(*aurocs, atol=1e-3)
    # The first epoch was behind it at the kill: its seconds are counted, not measured again.
    assert resumed.curve[0].seconds == seen[0]["seconds"]
    assert not place.exists()


@pytest.mark.usefixtures("few_digits")
def test_what_a_run_with_other_settings_left_behind_is_not_taken_up(tmp_path):
    with pytest.raises(BreakOffError):
        run(tmp_path, methods=("siamese",), watch=break_off)
    place = tmp_path / "digits" / ".siamese-seed0"
    assert (place / "training.safetensors").exists()
    epochs = []
    (record,) = run(
        tmp_path,
        methods=("siamese",),
        epochs=3,
        watch=lambda run, epoch, n_epochs, auroc: epochs.append(epoch),
    )
    assert epochs[0] == 1
    assert record.curve[-1].epoch == 20
    assert not place.exists()


@pytest.mark.usefixtures("few_digits")
def test_what_is_damaged_is_begun_anew(tmp_path):
    with pytest.raises(BreakOffError):
        run(tmp_path, methods=("siamese",), watch=break_off)
    place = tmp_path / "digits" / ".siamese-seed0"
    (place / "best.npz").write_bytes(b"nonsense")
    (record,) = run(tmp_path, methods=("siamese",))
    assert record.scores.neighbours > 0.5


@pytest.mark.usefixtures("few_digits")
def test_a_run_that_is_broken_off_while_it_is_scored_is_not_trained_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "retrieval_scores", break_off)
        with pytest.raises(BreakOffError):
            run(tmp_path, methods=("twofold",))
    monkeypatch.setattr(run_module, "_train", lambda *_: pytest.fail("it was trained again"))
    (record,) = run(tmp_path, methods=("twofold",))
    assert record.scores.neighbours > 0.5
    assert [point.epoch for point in record.curve] == [1, 2]


def test_without_images_nus_wide_is_phase_1_alone(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    labels = (rng.random((400, 6)) < 0.3).astype(np.uint8)
    part = sets_module.Part(None, labels)
    empty = sets_module.ExperimentSet(part, part, tuple("abcdef"))
    monkeypatch.setattr(reproduce_module, "open_set", lambda *_: empty)
    records = list(reproduce("nuswide", tmp_path, device="cpu"))
    assert [record.method for record in records] == ["fml-c", "fml-dp", "twofold"]
    for record in records:
        assert record.scores is None
        assert len(record.targets_seconds) == 10
        assert record.data["n_without_label"] == int((labels.sum(axis=1) == 0).sum())
        assert read_record(tmp_path / "nuswide" / f"{record.method}-seed0.json") == record
    assert list(reproduce("nuswide", tmp_path, device="cpu")) == records


@pytest.mark.parametrize(
    ("names", "data_set", "sentence"),
    [
        (["fml-x"], "digits", "no method 'fml-x'; there are fml-c, fml-dp, twofold"),
        (["fml-c", "supcon"], "yeast", "supcon learns from one class per item, but the items of"),
        (["lmnn"], "cifar10", "lmnn is a linear map of vectors, and CIFAR-10 holds images"),
    ],
)
def test_a_method_that_cannot_be_run_is_said(names, data_set, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_methods(names, PROTOCOLS[data_set])


def test_an_unknown_set_is_said(tmp_path):
    with pytest.raises(ValueError, match="'imagenet'"):
        list(reproduce("imagenet", tmp_path))
