"""Rivals that give codes: what each is by definition, and the interface they share."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from twofold import LabelRelation, Network, load
from twofold.baselines import (
    FixedCodeLearner,
    ITQLearner,
    LSHLearner,
    SiameseCodeLearner,
    TwoStepCodeLearner,
)
from twofold.baselines._network_codes import FixedCodes

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = (np.eye(5)[Y] * 4 + RNG.standard_normal((60, 5)) + 7).astype(np.float32)
QUICK = {"embedder": Network(max_epochs=6), "device": "cpu", "random_state": 0}
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
LEARNERS = {
    "lsh": LSHLearner(20, random_state=0),
    "itq": ITQLearner(20, random_state=0),
    "two-step": TwoStepCodeLearner(20, embedder=TREE, random_state=0),
    "siamese": SiameseCodeLearner(20, epoch_size=120, **QUICK),
    "fixed": FixedCodeLearner(20, **QUICK),
}
each = pytest.mark.parametrize("name", LEARNERS)


@each
def test_codes_are_packed_and_compared_by_bits(name, tmp_path):
    learner = clone(LEARNERS[name]).fit(X, Y)
    codes = learner.transform(X)
    assert (codes.dtype, codes.shape, learner.metric_) == (np.uint8, (60, 3), "hamming")
    bits = np.unpackbits(codes, axis=1)
    np.testing.assert_array_equal(bits[:, :20], learner.bit_margins(X) >= 0)
    assert learner.score(X, Y) > (0.8 if name in ("itq", "two-step", "fixed") else 0.6)
    assert learner.pair_distance(X[:1], X[1:2]) == (bits[0] != bits[1]).sum()
    trusted = ["sklearn.tree._tree.Tree"] if name == "two-step" else []
    again = load(learner.save(tmp_path / "model"), trusted=trusted)
    np.testing.assert_array_equal(again.transform(X), codes)


@each
def test_fewer_bits_than_one_are_refused(name):
    parameter = "n_components" if name == "siamese" else "n_bits"
    with pytest.raises(ValueError, match=f"{parameter} must be at least 1, got 0"):
        clone(LEARNERS[name]).set_params(**{parameter: 0}).fit(X, Y)


@pytest.mark.parametrize("kind", [LSHLearner, ITQLearner])
def test_unsupervised_codes_know_no_labels_and_no_place(kind):
    one, other = (kind(8, random_state=1).fit(X + moved, y) for moved, y in ((0, Y), (50, None)))
    agree = one.transform(X) == other.transform(X + 50)
    assert agree.mean() > 0.95


def test_itq_takes_as_many_directions_as_there_are_and_turns_them_into_bits():
    learner = ITQLearner(3, random_state=0).fit(X)
    margins = learner.bit_margins(X)
    centred = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    leading = centred @ axes[:3].T
    # A rotation: lengths in the space of leading directions are kept.
    np.testing.assert_allclose(
        np.linalg.norm(margins, axis=1), np.linalg.norm(leading, axis=1), rtol=1e-3
    )
    assert ITQLearner(64, random_state=0).fit(X).transform(X).shape == (60, 8)


def test_the_signs_of_a_siamese_network_are_about_its_medians():
    margins = clone(LEARNERS["siamese"]).fit(X, Y).bit_margins(X)
    np.testing.assert_allclose(np.median(margins, axis=0), 0, atol=1e-5)


def test_fixed_codes_lose_what_their_definition_says():
    codes = np.array([[1, 1, -1, 1], [-1, 1, 1, 1], [1, -1, 1, -1]], dtype=np.float32)
    points = RNG.standard_normal((5, 4)).astype(np.float32)
    classes, labels = np.array([0, 2, 1, 1, 0]), RNG.integers(0, 2, (5, 3)).astype(bool)
    labels[0] = [True, True, False]

    def slow(point, wanted):
        cosines = [point @ code / np.linalg.norm(point) / 2 for code in codes]
        logits = [3 * (c - 0.2 * (k in wanted)) for k, c in enumerate(cosines)]
        total = math.log(sum(map(math.exp, logits)))
        return sum(total - logits[k] for k in wanted) / max(1, len(wanted))

    loss = FixedCodes(torch.from_numpy(codes), 3.0, 0.2)
    of_classes = loss(torch.from_numpy(points), torch.from_numpy(classes))
    wanted = np.mean([slow(p, [c]) for p, c in zip(points, classes, strict=True)])
    assert float(of_classes) == pytest.approx(wanted, rel=1e-5)
    of_labels = loss(torch.from_numpy(points), torch.from_numpy(labels))
    wanted = np.mean([slow(p, np.flatnonzero(row)) for p, row in zip(points, labels, strict=True)])
    assert float(of_labels) == pytest.approx(wanted, rel=1e-5)


def test_two_step_bits_follow_what_the_trees_before_predict():
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    learner = TwoStepCodeLearner(12, embedder=stump, random_state=0)
    pairs = LabelRelation(Y).sample_pairs(4, 4, random_state=0)
    learner.fit(X, relation=pairs)
    signs = np.where(learner.bit_margins(X) >= 0, 1.0, -1.0)
    wanted = 2 * pairs.similar - 1
    products = (signs[pairs.left] * signs[pairs.right]).sum(axis=1) / 12
    # The loss is of the codes that are predicted, not of those that were solved.
    assert learner.history_["codes"][-1] == pytest.approx(np.mean((wanted - products) ** 2))


def test_two_step_hashing_takes_no_triplets():
    from twofold import TripletRelation

    with pytest.raises(TypeError, match="learns from pairs or labels, not triplets"):
        LEARNERS["two-step"].fit(X, relation=TripletRelation([0], [3], [1], 60))
