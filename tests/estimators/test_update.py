"""Statements and items that arrive later, or are taken back."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from little_problems import (
    Rows,
    beside_loud_noise,
    pairs_within,
    quick_learner,
    triplets_within,
)
from scipy import sparse
from sklearn.linear_model import Ridge

from twofold import MetricLearner, Network, PairRelation, RelationWarning, TripletRelation, load

X, Y = beside_loud_noise()
OTHER, OTHER_Y = beside_loud_noise(seed=1)
PAIRS = pairs_within(Y)
TRIPLETS = triplets_within(Y)


def fitted(relation=PAIRS, rows=X, **given) -> MetricLearner:
    defaults = {"embedder": "auto", "n_components": "auto", "feedback": 10}
    return quick_learner(**{**defaults, **given}).fit(rows, relation=relation)


def statement(left: int, right: int, n_items: int = 60, **given) -> PairRelation:
    """Return what is true of one pair of items, new ones being copies of the first."""
    return PairRelation([left], [right], [int(Y[left] == Y[right % 60])], n_items, **given)


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


@pytest.fixture(scope="module")
def unchanged() -> MetricLearner:
    """One fit for all that leave it as it is."""
    return fitted()


@EMBEDDERS
def test_an_update_moves_the_pair_it_speaks_of(given):
    left, right = 0, int(np.flatnonzero(Y[0] == Y)[5])
    heavy = PairRelation([left], [right], [0], 60, weight=[500.0])
    for relation in (heavy, PairRelation(heavy.right, heavy.left, [0], 60, weight=[500.0])):
        learner = fitted(**given)
        distance = learner.pair_distance(X[[left]], X[[right]])[0]
        gap = target_gap(learner, left, right)
        assert learner.update(relation) is learner
        assert target_gap(learner, left, right) > gap
        if not isinstance(given.get("embedder"), Network):  # one epoch may not get there
            assert learner.pair_distance(X[[left]], X[[right]])[0] > distance


def target_gap(learner: MetricLearner, left: int, right: int) -> float:
    """Return how far apart the targets of two items are: 1 − t·t' for inner products."""
    one, other = learner.targets_[[left, right]]
    return 1 - one @ other if learner.metric_ == "dot" else np.linalg.norm(one - other)


@EMBEDDERS
def test_what_was_told_of_the_last_fit_is_renewed(given):
    learner = fitted(**given)
    history, timing, targets = learner.history_, learner.timing_, learner.targets_
    learner.update(pairs_within(Y, 40, seed=1))
    assert learner.history_ is not history
    assert learner.timing_ is not timing
    assert not np.array_equal(learner.targets_, targets)
    if given.get("feedback") == 0:
        assert learner.history_["targets"] != history["targets"]
    if isinstance(given.get("embedder"), Network):
        assert learner.history_["regression"] != history["regression"]


@EMBEDDERS
def test_updates_are_about_as_good_as_a_fit_from_scratch(given):
    learner = fitted(PAIRS.take_pairs(np.arange(150)), **given)
    for first in (150, 170):
        learner.update(PAIRS.take_pairs(np.arange(first, min(first + 20, PAIRS.n_pairs))))
    scratch = fitted(PAIRS.take_pairs(np.arange(190)), **given).score(OTHER, OTHER_Y)
    assert learner.score(OTHER, OTHER_Y) > scratch - 0.05


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


@pytest.mark.parametrize("given", [{}, {"embedder": Ridge()}], ids=["map", "ridge"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame, Rows])
def test_new_rows_may_be_of_the_kind_that_fit_had(form, given):
    if form is Rows and given:
        pytest.skip("a regressor takes no Dataset")
    old, new = form(X), form(X[:2])
    if form is pd.DataFrame:
        old.columns = new.columns = list("abcde")
    learner = fitted(rows=old, validation_fraction=0, **given).update(statement(0, 61, 62), new)
    points = learner.transform(old)
    assert points.shape == (60, 5)
    plain = fitted(validation_fraction=0, **given).update(statement(0, 61, 62), X[:2])
    np.testing.assert_allclose(points, plain.transform(X), atol=1e-3)
    if form is pd.DataFrame:
        assert learner.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("feedback", [10, 0])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_statement_taken_back_is_forgotten_in_either_order(feedback, order):
    stated = set(zip(PAIRS.left, PAIRS.right, strict=True))
    unlike = np.flatnonzero(Y[0] != Y)
    wrong = next((0, int(item)) for item in unlike if not {(0, item), (item, 0)} & stated)
    misled = PAIRS.merge(PairRelation([wrong[0]], [wrong[1]], [1], 60, weight=[500.0]))
    given = {"n_components": 4, "feedback": feedback, "validation_fraction": 0}
    learner = fitted(misled, embedder=Ridge(), **given)
    before = target_gap(learner, *wrong)
    taken_back = [[wrong[k] for k in order]]
    learner.update(withdrawn=taken_back)
    if feedback:  # without it, nothing else need be known of the two
        assert target_gap(learner, *wrong) > before
    with pytest.raises(ValueError, match="nothing is stated about"):
        learner.update(withdrawn=taken_back)


def test_triplets_are_taken_in_and_back():
    some = TripletRelation(TRIPLETS.anchor[:60], TRIPLETS.positive[:60], TRIPLETS.negative[:60], 60)
    learner = fitted(some, validation_fraction=0)
    first = (int(some.anchor[0]), int(some.positive[0]), int(some.negative[0]))
    rest = TripletRelation(TRIPLETS.anchor[60:], TRIPLETS.positive[60:], TRIPLETS.negative[60:], 60)
    before = learner.score(X, relation=TRIPLETS)
    learner.update(rest, withdrawn=[first])
    assert learner.score(X, relation=TRIPLETS) > max(before, 0.9)


def test_a_threshold_is_to_be_calibrated_again():
    learner = fitted(validation_fraction=0).calibrate_threshold(X, relation=PAIRS)
    learner.update(statement(0, 1))
    assert not hasattr(learner, "calibration_")
    with pytest.raises(ValueError, match="There is no threshold yet"):
        learner.predict_pairs(X[:2], X[2:4])


@EMBEDDERS
def test_the_same_updates_give_the_same_bytes(given):
    first, second = (fitted(**given).update(statement(0, 9)).transform(X) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_a_loaded_or_pickled_model_says_how_it_can_go_on(unchanged, tmp_path):
    pickled = pickle.loads(pickle.dumps(unchanged))
    for opened in (pickled, load(unchanged.save(tmp_path / "model"))):
        for call in (lambda one: one.update(PAIRS), lambda one: one.suggest_pairs(3)):
            with pytest.raises(ValueError, match=r"Save it by save\(folder, with_data=True\)"):
                call(opened)


def test_labels_are_fitted_again_instead():
    learner = quick_learner().fit(X, Y)
    with pytest.raises(TypeError, match=r"update goes on from statements; .* fitted to labels"):
        learner.update(PAIRS)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({}, ValueError, "There is nothing to update: pass relation, withdrawn, or both"),
        ({"relation": TRIPLETS}, TypeError, "must be a PairRelation, as it was in fit, got Trip"),
        ({"relation": statement(0, 61, 62)}, ValueError, "about 62 items, but there are 60 rows"),
        ({"withdrawn": [(0, 0)]}, ValueError, "nothing is stated about"),
        ({"withdrawn": [0, 1]}, ValueError, "shape"),
        ({"relation": PAIRS, "X_new": np.zeros((1, 6))}, ValueError, "X has 6 features"),
        ({"relation": PAIRS, "X_new": Rows(X)}, TypeError, "of the kind that X was in fit"),
        (
            {"withdrawn": np.column_stack([PAIRS.left, PAIRS.right])[PAIRS.similar == 1]},
            ValueError,
            "no similar pair",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:12],
)
def test_what_cannot_be_taken_in_is_refused_and_changes_nothing(given, error, match, unchanged):
    before = unchanged.transform(X).tobytes()
    with pytest.raises(error, match=match):
        unchanged.update(**given)
    assert unchanged.transform(X).tobytes() == before
    copy = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        after = [one.suggest_pairs(5, random_state=0) for one in (unchanged, copy)]
    assert after[0].left.tobytes() == after[1].left.tobytes()
