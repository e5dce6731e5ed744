"""What to ask next: `MetricLearner.suggest_pairs`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from little_problems import (
    PAIRS,
    TRIPLETS,
    Rows,
    X,
    Y,
    beside_loud_noise,
    pairs_within,
    quick_learner,
    table,
)
from scipy import sparse
from sklearn.linear_model import Ridge

from twofold import (
    MetricLearner,
    Network,
    PairRelation,
    RelationWarning,
    Suggestions,
    Targets,
)


def fitted(rows=X, relation=PAIRS, **given) -> MetricLearner:
    defaults = {"embedder": "auto", "n_components": "auto", "feedback": 8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # features that are best as given
        return quick_learner(**{**defaults, **given}).fit(rows, relation=relation)


def keys(left, right):
    return {frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)}


STATED = keys(PAIRS.left, PAIRS.right)


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return fitted()


def test_nothing_is_asked_twice_half_are_likely_alike_and_more_are_than_at_random(learner):
    suggested = learner.suggest_pairs(24, random_state=0)
    assert isinstance(suggested, Suggestions)
    assert len(suggested) == len(suggested.right) == len(suggested.probability) == 24
    asked = keys(suggested.left, suggested.right)
    assert len(asked) == 24
    assert not asked & STATED
    assert np.unique([suggested.left, suggested.right]).size == 48
    assert (suggested.probability >= 0.5).sum() == 12
    assert (np.diff(suggested.probability) <= 0).all()
    assert (Y[suggested.left] == Y[suggested.right]).mean() > 0.4  # of all pairs a third are
    again = learner.suggest_pairs(24, random_state=0)
    assert again.left.tobytes() == suggested.left.tobytes()
    assert again.probability.tobytes() == suggested.probability.tobytes()


def test_only_candidates_are_asked_in_whichever_form(learner):
    left, right = np.arange(0, 30), np.arange(30, 60)
    for candidates in ((left, right), np.stack([right, left], axis=1), [(0, 30), (1, 31)]):
        n = min(10, len(candidates[0]) if isinstance(candidates, tuple) else len(candidates))
        suggested = learner.suggest_pairs(n, candidates=candidates, random_state=0)
        assert len(suggested) == n
        assert keys(suggested.left, suggested.right) <= keys(left, right)


def test_stated_candidates_are_left_out_in_either_order_and_that_is_said(learner):
    stated = np.stack([PAIRS.right, PAIRS.left], axis=1)
    new = next((0, item) for item in range(1, 60) if frozenset((0, item)) not in STATED)
    candidates = np.concatenate([stated, [new, new[::-1], (4, 4)]])
    with pytest.warns(RelationWarning, match="Only 1 of the 5 pairs asked for are suggested"):
        suggested = learner.suggest_pairs(5, candidates=candidates, random_state=0)
    assert keys(suggested.left, suggested.right) == {frozenset(new)}
    with pytest.warns(RelationWarning, match="Only 0 of the 5 pairs"):
        assert len(learner.suggest_pairs(5, candidates=stated, random_state=0)) == 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, table])
def test_items_with_equal_features_are_one(form):
    few, y = beside_loud_noise(30)
    few[:, 4] = np.where(few[:, 4] < 0, 0.0, few[:, 4])
    twins = np.where(few == 0, -0.0, few)
    known = pairs_within(y, 90, 60)
    rows = form(np.concatenate([few, twins]))
    learner = fitted(rows, known, validation_fraction=0)
    stated = keys(known.left, known.right)
    with pytest.warns(RelationWarning, match=f"Only {30 * 29 // 2 - len(stated)} of"):
        suggested = learner.suggest_pairs(5000, random_state=0)
    asked = keys(suggested.left % 30, suggested.right % 30)
    assert len(asked) == len(suggested) == 30 * 29 // 2 - len(stated)
    assert not asked & stated
    assert all(len(pair) == 2 for pair in asked)


def test_what_was_answered_in_an_update_is_not_asked_again_and_new_items_are_asked_about():
    learner = fitted(validation_fraction=0)
    first = learner.suggest_pairs(10, random_state=0)
    similar = Y[first.left] == Y[first.right]
    learner.update(PairRelation(first.left, first.right, similar, 62), X[:2] + 1)
    candidates = np.concatenate([np.column_stack([first.left, first.right]), [(60, 61), (3, 60)]])
    with pytest.warns(RelationWarning, match="Only 2 of the 10"):
        second = learner.suggest_pairs(10, candidates=candidates, random_state=0)
    assert keys(second.left, second.right) == {frozenset((60, 61)), frozenset((3, 60))}


@pytest.mark.parametrize(
    ("rows", "given", "metric"),
    [
        (table(X), {"embedder": Ridge()}, "euclidean"),
        (X, {"embedder": Network(max_epochs=2), "validation_fraction": 0}, "euclidean"),
        (X, {"embedder": Network(max_epochs=2), "feedback": 0, "n_components": 4}, "dot"),
        (X, {"targets": Targets("dot"), "validation_fraction": 0}, "dot"),
        (sparse.csr_matrix(X), {}, "euclidean"),
        (Rows(X), {}, "euclidean"),
    ],
    ids=["table", "network", "once", "dot", "csr", "dataset"],
)
def test_any_learner_of_pairs_can_ask(rows, given, metric):
    learner = fitted(rows, **given)
    assert learner.metric_ == metric or learner.selection_.candidate == "features as given"
    suggested = learner.suggest_pairs(10, random_state=0)
    assert not keys(suggested.left, suggested.right) & STATED
    assert ((suggested.probability >= 0) & (suggested.probability <= 1)).all()


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"n": 0}, ValueError, "n must be at least 1, got 0"),
        ({"n": 2.5}, TypeError, "n must be an integer"),
        ({"candidates": [0, 1]}, ValueError, r"candidates must have shape .*, got \(2,\)"),
        ({"candidates": [(0, 60)]}, ValueError, r"candidates\[:, 1\] .* \(item 60\)"),
        ({"candidates": [(0.5, 1)]}, TypeError, "must hold integers"),
        ({"candidates": ([0, 1], [2])}, ValueError, "left has 2, right has 1"),
        ({"random_state": "x"}, ValueError, "random_state must be"),
    ],
)
def test_what_cannot_be_asked_is_said(learner, given, error, match):
    with pytest.raises(error, match=match):
        learner.suggest_pairs(**{"n": 5, **given})


def test_who_knows_triplets_only_cannot_ask():
    with pytest.raises(TypeError, match="this model was fitted to triplets, which only compare"):
        fitted(relation=TRIPLETS).suggest_pairs(5)
