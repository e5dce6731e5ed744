"""Every mistake of a user's is one sentence: what is wrong, where, and the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from little_problems import (
    PAIRS,
    SHOWN,
    TRIPLETS,
    OwnNetwork,
    Rows,
    X,
    Y,
    pairs_within,
    quick_learner,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from torch import nn

from twofold import LabelRelation, MetricLearner, Network, PairRelation, Targets

WITH_NAN = np.where(np.arange(5) == 2, np.nan, X)
BOTH_PATHS = pytest.mark.parametrize("given", [{"y": Y}, {"relation": PAIRS}], ids=["y", "pairs"])
MIXED = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": np.arange(60)})


def pair_of_kinds(*similar) -> PairRelation:
    return PairRelation([0, 1], [1, 2], similar, 60)


def refused(error, sentence, X=X, given=None, **parameters) -> None:
    """Fit; a message of ours must be a few words to a person and not a trace."""
    with pytest.raises(error, match=sentence) as caught:
        quick_learner(**parameters).fit(X, **({"y": Y} if given is None else given))
    if "twofold" in caught.traceback[-1].path.parts:
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("embedder", [Network(max_epochs=1), Ridge()])
def test_features_that_are_not_finite_are_refused_in_fit_and_transform(value, embedder):
    learner = quick_learner(embedder=embedder).fit(X, Y)
    wrong = X.copy()
    wrong[7, 2] = value
    for call in (learner.transform, lambda rows: quick_learner(embedder=embedder).fit(rows, Y)):
        with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
            call(wrong)


@pytest.mark.parametrize(("shape", "rows"), [((60, 5), (47, 55)), ((40, 2**19), (35, 39))])
def test_a_memory_mapped_array_is_looked_through_part_by_part(tmp_path, shape, rows):
    file = tmp_path / "X.npy"
    written = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
    written[rows, 2] = np.nan
    written.flush()
    mapped = np.load(file, mmap_mode="r")
    refused(ValueError, f"NaN or infinity, first in row {rows[0]}", mapped, {"y": Y[: shape[0]]})
    np.save(file, np.zeros(5))
    flat = np.load(file, mmap_mode="r")
    refused(ValueError, r"one row per item, got float64 of shape \(5,\)", flat, {"y": Y[:5]})


@pytest.mark.parametrize(
    ("features", "given", "error", "sentence"),
    [
        (Rows(WITH_NAN), {"y": Y}, ValueError, "X holds NaN or infinity"),
        (Rows(WITH_NAN), {"relation": PAIRS}, ValueError, "X holds NaN or infinity"),
        (Rows(X[:0]), {"y": Y[:0]}, ValueError, "The Dataset is empty"),
        (Rows(X), {"y": Y[1:]}, ValueError, r"numbers of samples: \[60, 59\]"),
        (X, {"y": Y[1:]}, ValueError, r"inconsistent numbers of samples: \[60, 59\]"),
        (X[:1], {"y": Y[:1]}, ValueError, "at least two rows to compare, got n_samples = 1"),
        (X, {}, ValueError, r"requires y to be passed, .* or relation="),
        (X, {"y": Y, "relation": PAIRS}, ValueError, "Both y and relation are given"),
        (X, {"relation": np.eye(60)}, TypeError, r"relation must be a PairRelation, .* ndarray"),
        (X, {"y": Y + 0.5}, ValueError, r"continuous values \(first: [0-2]\.5\)"),
        (X, {"y": np.zeros((60, 2, 2))}, ValueError, r"got shape \(60, 2, 2\)"),
        (X, {"y": np.arange(120).reshape(60, 2)}, ValueError, "must hold 0 and 1 only"),
        (X, {"y": np.where(Y == 0, np.inf, Y)}, ValueError, "y contains infinity"),
        (X, {"y": np.full(60, -1)}, ValueError, "unknown"),
        (X, {"y": "abc"}, TypeError, "at least 1 dimension"),
        (X, {"y": [["a", "b"], ["c"]] * 30}, ValueError, "rows of different lengths"),
        (X, {"y": np.arange(60)}, ValueError, "The relation has no similar pair"),
        (X, {"y": np.zeros(60)}, ValueError, "no dissimilar pair"),
        (X, {"relation": pair_of_kinds(0, 0)}, ValueError, "The relation has no similar pair"),
        (X, {"relation": pair_of_kinds(1, 1)}, ValueError, "The relation has no dissimilar pair"),
        (X[:59], {"relation": pair_of_kinds(1, 0)}, ValueError, "60 items, but X has 59 rows"),
        (X[:59], {"relation": LabelRelation(Y)}, ValueError, "60 items, but X has 59 rows"),
        (X[:59], {"relation": TRIPLETS}, ValueError, "60 items, but X has 59 rows"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(features, given, error, sentence):
    refused(error, sentence, features, given)


@BOTH_PATHS
@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.0}, TypeError, r"n_components must be an integer, got 2\.0"),
        ({"targets": "fml"}, ValueError, r"targets must be 'auto', 'fml-c', .* got 'fml'"),
        ({"targets": Targets(margin=0)}, ValueError, "margin must be finite and above 0, got 0"),
        ({"validation_fraction": 1}, ValueError, "validation_fraction must be below 1, got 1"),
        ({"validation_fraction": -0.1}, ValueError, "validation_fraction must be .*at least 0"),
        ({"random_state": "one"}, ValueError, "random_state must be .* got 'one'"),
        ({"device": "tpu"}, ValueError, r"device must be 'auto', .* got 'tpu'"),
        ({"device": "cuda:99"}, ValueError, "device='cuda:99' is not available"),
        ({"embedder": "resnet"}, ValueError, "embedder must be one of 'auto', .* got 'resnet'"),
        ({"embedder": Network(Ridge())}, TypeError, "Pass a regressor as the embedder itself"),
        ({"embedder": LogisticRegression()}, TypeError, "regressor, got LogisticRegression"),
        ({"embedder": "cifar10"}, ValueError, r"cifar10.* takes images.*got \(n, 5\).*'mlp'"),
        *[({"feedback": n}, ValueError, f"feedback .* got {n!r}") for n in (-1, 1.5, "x", True)],
        ({"embedder": Network(max_epochs=0)}, ValueError, "max_epochs must be at least 1, got 0"),
        ({"embedder": Network(dropout=1.0)}, ValueError, "dropout must be below 1, got 1"),
        (
            {"embedder": Network(augment="flips")},
            ValueError,
            "augment changes images of shape .* items have shape",
        ),
        ({"embedder": Network(callback=3)}, TypeError, "callback must be callable, got 3"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_with_its_value(parameters, error, sentence, given):
    refused(error, sentence, given=given, **parameters)


@BOTH_PATHS
@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (OwnNetwork(n_components=3), r"\(2, 4\) for 2 items, got \(2, 3\)\. Set n_components"),
        (OwnNetwork(n_features=6), r"does not take items of shape \(5,\)"),
    ],
    ids=["width", "features"],
)
def test_a_network_that_does_not_fit_is_refused_before_any_step_of_training(own, sentence, given):
    SHOWN.clear()
    with pytest.raises(ValueError, match=sentence):
        quick_learner(embedder=Network(own), validation_fraction=0).fit(X, **given)
    assert not SHOWN


class OutOfMemory(nn.Module):
    """A network that a GPU has no room for, in training or as soon as it is tried."""

    def __init__(self, only_in_training: bool = True) -> None:
        super().__init__()
        self.only_in_training = only_in_training
        self.layer = nn.Linear(5, 4)

    def forward(self, items):
        if self.training or not self.only_in_training:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 PiB.")
        return self.layer(items)


@BOTH_PATHS
@pytest.mark.parametrize(("batch_size", "smaller"), [(64, 16), (1, 1)])
@pytest.mark.parametrize("only_in_training", [True, False])
def test_out_of_memory_names_the_batch_size_to_try(given, batch_size, smaller, only_in_training):
    own = Network(OutOfMemory(only_in_training), batch_size=batch_size)
    sentence = rf"batch_size={batch_size}\. Try batch_size={smaller}, or device='cpu'"
    refused(MemoryError, sentence, given=given, embedder=own)


def test_what_does_not_go_together_is_refused_with_the_way_out():
    own, relation = Network(loss="likelihood"), {"relation": PAIRS}
    refused(
        ValueError, "with feedback each item has its own.*feedback=0", given=relation, embedder=own
    )
    given = {"relation": pairs_within(Y, 400)}
    sentence = "60 items have 60 different targets: set loss='squared'"
    refused(ValueError, sentence, given=given, embedder=own, feedback=0)
    refused(ValueError, "finite numbers: .* Set feedback=0", MIXED, relation, embedder=Ridge())
    kept = Network(checkpoint="training")
    refused(ValueError, "checkpoint needs .* a number, got None", embedder=kept, random_state=None)
    refused(TypeError, "A torch Dataset needs a network; Ridge", Rows(X), embedder=Ridge())


@pytest.mark.parametrize(
    "name",
    ["transform", "score", "pair_similarity", "calibrate_threshold", "predict_pairs", "save"],
)
def test_nothing_is_done_before_fit(name):
    arguments = {"transform": (X,), "save": ("nowhere",)}.get(name, (X, Y))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(MetricLearner(), name)(*arguments)


def test_rows_of_another_shape_or_number_are_refused_after_fit():
    for learner in (quick_learner().fit(X, Y), quick_learner(embedder=Ridge()).fit(X, Y)):
        with pytest.raises(ValueError, match="X has 3 features, but MetricLearner is expecting 5"):
            learner.transform(X[:, :3])
        with pytest.raises(ValueError, match="A has 60 rows and B has 59"):
            learner.pair_similarity(X, X[1:])
        for call in (learner.score, learner.calibrate_threshold):
            with pytest.raises(ValueError, match="about 99 items, but X has 60 rows"):
                call(X, relation=pairs_within(Y, n_items=99))
        with pytest.raises(TypeError, match="needs pairs or labels; triplets only compare"):
            learner.calibrate_threshold(X, relation=TRIPLETS)
        with pytest.raises(ValueError, match="strategy='max_tpr' needs min_rate"):
            learner.calibrate_threshold(X, Y, strategy="max_tpr")
        assert not hasattr(learner, "threshold_")
    of_images = quick_learner().fit(X.reshape(60, 1, 1, 5), Y)
    with pytest.raises(ValueError, match=r"shape \(1, 5, 1\), .* fitted on .* \(1, 1, 5\)"):
        of_images.transform(X.reshape(60, 1, 5, 1))
    with pytest.raises(ValueError, match=r"X has items of shape \(3,\), .* of shape \(5,\)"):
        quick_learner().fit(Rows(X), Y).transform(Rows(X[:, :3]))


def test_a_validation_part_leaves_something_to_train_on_and_phase_1_needs_no_features():
    quick_learner(feedback=0).fit(X, relation=pair_of_kinds(0.4, 0.9))  # grades are of both kinds
    learner = quick_learner(validation_fraction=0.95).fit(X[:6], [0, 1, 2, 0, 1, 2])
    for given in ({}, {"y": Y, "relation": LabelRelation(Y)}):
        with pytest.raises(ValueError, match="Pass either y or relation"):
            learner.solve_targets(**given)
