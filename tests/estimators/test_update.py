"""Statements and items that arrive later, or are taken back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from little_problems import OTHER, PAIRS, TRIPLETS, Rows, X, Y, quick_learner, table
from scipy import sparse
from sklearn.linear_model import Ridge

from twofold import MetricLearner, Network, PairRelation, TripletRelation, load


def fitted(relation=PAIRS, rows=X, **given) -> MetricLearner:
    defaults = {"embedder": "auto", "n_components": "auto", "feedback": 10}
    return quick_learner(**{**defaults, **given}).fit(rows, relation=relation)


def statement(left: int, right: int, n_items: int = 60) -> PairRelation:
    """Return what is true of one pair of items, new ones being copies of the first."""
    return PairRelation([left], [right], [int(Y[left] == Y[right % 60])], n_items)


def target_gap(learner: MetricLearner, left: int, right: int) -> float:
    """Return how far apart the targets of two items are: 1 − t·t' for inner products."""
    one, other = learner.targets_[[left, right]]
    return 1 - one @ other if learner.metric_ == "dot" else np.linalg.norm(one - other)


EMBEDDERS = pytest.mark.parametrize(
    "given",
    [
        {},
        {"embedder": Network(max_epochs=10), "validation_fraction": 0},
        {"embedder": Ridge(), "validation_fraction": 0},
        {"embedder": Network(max_epochs=10), "feedback": 0, "n_components": 4},
        {"embedder": Ridge(), "feedback": 0, "n_components": 4},
    ],
    ids=["map", "network", "regressor", "network, no feedback", "regressor, no feedback"],
)


@EMBEDDERS
def test_an_update_moves_the_pair_it_speaks_of_and_renews_what_is_told(given):
    left, right = 0, int(np.flatnonzero(Y[0] == Y)[5])
    for ends in ((left, right), (right, left)):
        learner = fitted(**given).calibrate_threshold(X, relation=PAIRS)
        distance, gap = learner.pair_distance(X[[left]], X[[right]])[0], target_gap(learner, *ends)
        history, timing = learner.history_, learner.timing_
        heavy = PairRelation([ends[0]], [ends[1]], [0], 60, weight=[500.0])
        assert learner.update(heavy) is learner
        assert target_gap(learner, *ends) > gap
        if not isinstance(given.get("embedder"), Network):  # one epoch may not get there
            assert learner.pair_distance(X[[left]], X[[right]])[0] > distance
        else:
            assert learner.history_["regression"] != history["regression"]
        if given.get("feedback") == 0:
            assert learner.history_["targets"] != history["targets"]
        assert learner.timing_ is not timing
        assert not hasattr(learner, "threshold_")
        assert not hasattr(learner, "calibration_")


@EMBEDDERS
def test_updates_are_about_as_good_as_a_fit_from_scratch_and_the_same_every_time(given):
    def updated():
        learner = fitted(PAIRS.take_pairs(np.arange(150)), **given)
        for first in (150, 170):
            learner.update(PAIRS.take_pairs(np.arange(first, first + 20)))
        return learner

    scratch = fitted(PAIRS.take_pairs(np.arange(190)), **given).score(*OTHER)
    learner = updated()
    assert learner.score(*OTHER) > scratch - 0.05
    assert learner.transform(X).tobytes() == updated().transform(X).tobytes()


def test_a_map_is_fitted_again_and_compared_again_once_statements_are_half_as_many_more():
    learner = fitted(PAIRS.take_pairs(np.arange(120)))
    compared, before = learner.selection_, learner.transform(X)
    learner.update(PAIRS.take_pairs(np.arange(120, 150)))
    assert learner.selection_.scores == compared.scores
    assert learner.selection_.n_statements == 120
    assert not np.allclose(learner.transform(X), before)
    learner.update(PAIRS.take_pairs(np.arange(150, 190)))
    assert learner.selection_.scores != compared.scores
    assert learner.selection_.n_statements == 190


@pytest.mark.parametrize("embedder", ["auto", Ridge()])
def test_an_update_takes_as_many_rounds_as_were_selected(embedder):
    given = {"feedback": 1, "validation_fraction": 0, "embedder": embedder}
    updated = fitted(PAIRS.take_pairs(np.arange(180)), **given)
    updated.update(PAIRS.take_pairs(np.arange(180, len(PAIRS))))
    np.testing.assert_allclose(updated.transform(X), fitted(**given).transform(X), atol=1e-3)


@EMBEDDERS
def test_new_items_come_with_their_statements(given):
    learner = fitted(**given)
    n_components = learner.n_components_
    learner.update(statement(0, 61, 62), X[:2])
    assert learner.targets_.shape == (62, n_components)
    assert np.isfinite(learner.targets_[61]).all()
    assert np.isnan(learner.targets_[60]).all()
    learner.update(statement(1, 60, 62))
    assert np.isfinite(learner.targets_[60]).all()


@pytest.mark.parametrize("embedder", ["auto", Ridge()])
@pytest.mark.parametrize("form", [sparse.csr_matrix, table, Rows])
def test_new_rows_may_be_of_the_kind_that_fit_had(form, embedder):
    if form is Rows and embedder != "auto":
        return  # a regressor takes no Dataset
    given = {"validation_fraction": 0, "embedder": embedder}
    learner, plain = fitted(rows=form(X), **given), fitted(**given)
    for one, more in ((learner, form(X[:2])), (plain, X[:2])):
        one.update(statement(0, 61, 62), more)
    np.testing.assert_allclose(learner.transform(form(X)), plain.transform(X), atol=1e-3)


@pytest.mark.parametrize("feedback", [10, 0])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_statement_taken_back_is_forgotten_in_either_order(feedback, order):
    unlike = set(np.flatnonzero(Y[0] != Y)) - set(PAIRS.left[PAIRS.right == 0])
    wrong = (0, int(min(unlike - set(PAIRS.right[PAIRS.left == 0]))))
    misled = PAIRS.merge(PairRelation([wrong[0]], [wrong[1]], [1], 60, weight=[500.0]))
    given = {"n_components": 4, "feedback": feedback, "validation_fraction": 0}
    learner = fitted(misled, embedder=Ridge(), **given)
    before, taken_back = target_gap(learner, *wrong), [[wrong[k] for k in order]]
    learner.update(withdrawn=taken_back)
    if feedback:  # without it, nothing else need be known of the two
        assert target_gap(learner, *wrong) > before
    with pytest.raises(ValueError, match="there are no statements about"):
        learner.update(withdrawn=taken_back)


def test_triplets_are_taken_in_and_back():
    first, rest = (
        TripletRelation(TRIPLETS.anchor[rows], TRIPLETS.positive[rows], TRIPLETS.negative[rows], 60)
        for rows in (np.arange(60), np.arange(60, len(TRIPLETS)))
    )
    learner = fitted(first, validation_fraction=0)
    before = learner.score(X, relation=TRIPLETS)
    withdrawn = [(int(first.anchor[0]), int(first.positive[0]), int(first.negative[0]))]
    learner.update(rest, withdrawn=withdrawn)
    assert learner.score(X, relation=TRIPLETS) > max(before, 0.9)


def test_who_does_not_know_its_statements_says_how_to_go_on(tmp_path):
    learner = fitted(validation_fraction=0)
    for opened in (pickle.loads(pickle.dumps(learner)), load(learner.save(tmp_path / "model"))):
        for call in (
            lambda one=opened: one.update(PAIRS),
            lambda one=opened: one.suggest_pairs(3),
            lambda one=opened: one.save(tmp_path / "copy", with_data=True),
        ):
            with pytest.raises(ValueError, match=r"Save it with save\(folder, with_data=True\)"):
                call()
    assert not (tmp_path / "copy").exists()
    of_labels = quick_learner().fit(X, Y)
    for action, argument in (("update", PAIRS), ("suggest_pairs", 3)):
        with pytest.raises(
            TypeError, match=f"{action} needs a model fitted to statements, .* to labels"
        ):
            getattr(of_labels, action)(argument)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({}, ValueError, "There is nothing to update: pass relation, withdrawn, or both"),
        ({"relation": TRIPLETS}, TypeError, "must be a PairRelation, as it was in fit, got Trip"),
        ({"relation": statement(0, 61, 62)}, ValueError, "about 62 items, but there are 60 rows"),
        ({"withdrawn": [(0, 0)]}, ValueError, "there are no statements about"),
        ({"withdrawn": [0, 1]}, ValueError, "shape"),
        ({"relation": PAIRS, "X_new": np.zeros((1, 6))}, ValueError, "X has 6 features"),
        ({"relation": PAIRS, "X_new": Rows(X)}, TypeError, "of the same type as X in fit"),
        (
            {"withdrawn": np.column_stack([PAIRS.left, PAIRS.right])[PAIRS.similar == 1]},
            ValueError,
            "no similar pair",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_taken_in_is_refused_and_changes_nothing(given, error, match):
    learner, copy = (fitted(validation_fraction=0, feedback=2) for _ in range(2))
    with pytest.raises(error, match=match):
        learner.update(**given)
    assert learner.transform(X).tobytes() == copy.transform(X).tobytes()
    suggested = [one.suggest_pairs(5, random_state=0) for one in (learner, copy)]
    assert suggested[0].left.tobytes() == suggested[1].left.tobytes()
