"""Features that nothing learnt is better than are returned as given, and all works with them."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import (
    OTHER,
    Rows,
    X,
    Y,
    pairs_within,
    quick_learner,
    table,
    three_blobs,
    three_rays,
    triplets_within,
)
from scipy import sparse
from sklearn.linear_model import Ridge

from twofold import MetricLearner, Network, PairRelation, RelationWarning, load

BLOBS, BLOBS_Y = three_blobs()
RAYS, RAYS_Y = three_rays()
PROBLEMS = {"euclidean": (BLOBS, BLOBS_Y), "cosine": (RAYS, RAYS_Y)}
BOTH_METRICS = pytest.mark.parametrize("metric", PROBLEMS)


def kept(X, relation, **parameters) -> MetricLearner:
    """Return a learner that keeps the features, and says so."""
    learner = quick_learner(**{"embedder": "auto", "n_components": "auto", **parameters})
    with pytest.warns(RelationWarning, match="so the embedding is the features as given"):
        learner.fit(X, relation=relation)
    assert learner.selection_.candidate == "features as given"
    return learner


@BOTH_METRICS
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_they_are_compared_by_what_orders_the_statements_better(metric, kind):
    X, y = PROBLEMS[metric]
    relation = pairs_within(y) if kind == "pairs" else triplets_within(y)
    learner = kept(X, relation)
    assert learner.metric_ == learner.selection_.metric == metric
    np.testing.assert_array_equal(learner.transform(X), X)
    A, B = X[:20], X[20:40]
    if metric == "cosine":  # twice the cosine's distance is the squared one of unit vectors
        A, B = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (A, B))
    expected = np.linalg.norm(A - B, axis=1)
    expected = expected**2 / 2 if metric == "cosine" else expected
    np.testing.assert_allclose(learner.pair_distance(X[:20], X[20:40]), expected, atol=1e-5)
    assert learner.score(X, relation=relation) > 0.95


@pytest.mark.parametrize("embedder", ["auto", Network(max_epochs=1), Ridge()])
def test_all_columns_are_returned_also_where_fewer_were_asked_for(embedder):
    learner = quick_learner(n_components=2, embedder=embedder)
    with pytest.warns(RelationWarning, match="n_components=2 does not apply"):
        learner.fit(BLOBS, relation=pairs_within(BLOBS_Y))
    assert learner.n_components_ == 5
    np.testing.assert_array_equal(learner.transform(BLOBS), BLOBS)
    np.testing.assert_array_equal(learner.targets_, BLOBS)
    assert learner.get_feature_names_out().size == 5


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        (PairRelation([0, 2, 4], [1, 3, 5], [1, 0, 1], 60), r"3 statement\(s\) are too few"),
        (pairs_within(BLOBS_Y, 12), r"11 statement\(s\) are too few for learning"),
        (
            pairs_within(BLOBS_Y),
            r"Nothing learnt orders the \d+ held-out statements .* do \(1\.0000\)",
        ),
    ],
)
def test_the_warning_says_why_and_no_column_is_lost(relation, sentence):
    wide = np.column_stack([BLOBS, np.zeros((60, 295), dtype=np.float32)])
    with pytest.warns(RelationWarning, match=sentence):
        learner = quick_learner(embedder="auto").fit(wide, relation=relation)
    np.testing.assert_array_equal(learner.transform(wide), wide)


def test_the_time_that_trials_took_is_told():
    learner = kept(BLOBS, pairs_within(BLOBS_Y), embedder=Network(max_epochs=1))
    assert set(learner.timing_) == {"targets", "regression"}
    assert min(learner.timing_.values()) > 0
    assert "network" in learner.selection_.scores
    told = learner.history_["feedback"]
    assert (told["candidate"], told["round"]) == ("features as given", 0)
    assert told["validation"] == learner.selection_.scores
    assert told["reference"] == learner.selection_.reference == pytest.approx(1.0)
    assert told["expected"]["new items"] == pytest.approx(1.0)
    assert learner.history_["regression"] == []


@pytest.mark.parametrize(
    ("metric", "form"),
    [
        ("euclidean", np.asarray),
        ("euclidean", sparse.csr_matrix),
        ("euclidean", table),
        ("cosine", np.asarray),
        ("cosine", Rows),
    ],
)
def test_everything_works_with_them(metric, form, tmp_path):
    X, y = PROBLEMS[metric]
    features, relation = form(X), pairs_within(y)
    learner = kept(features, relation)
    np.testing.assert_array_equal(learner.transform(features), X)

    assert learner.calibrate_threshold(features, relation=relation) is learner
    rows = (X[relation.left], X[relation.right])
    rows = tuple(map(table, rows)) if form is table else rows
    called = learner.predict_pairs(*rows)
    assert np.mean(called == (relation.similar == 1)) == pytest.approx(
        learner.calibration_.accuracy
    )

    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(again.transform(features), X, rtol=1e-6)
    assert (again.metric_, again.selection_.candidate) == (metric, "features as given")
    np.testing.assert_array_equal(again.predict_pairs(*rows), called)

    suggested = learner.suggest_pairs(6, random_state=0)
    assert len(suggested) == 6
    assert (np.diff(suggested.probability) <= 0).all()

    more = PairRelation([0], [1], [int(y[0] == y[1])], 60)
    with pytest.warns(RelationWarning, match="features as given"):
        learner.update(more)
    np.testing.assert_array_equal(learner.transform(features), X)
    assert not hasattr(learner, "threshold_")


def test_they_give_way_once_statements_suffice_also_where_the_model_was_opened(tmp_path):
    learner = kept(X, pairs_within(Y, 12))
    opened = load(learner.save(tmp_path / "model", with_data=True), device="cpu")
    for one in (learner, opened):
        one.update(pairs_within(Y, 200, seed=1))
        assert one.selection_.candidate == "ridge map"
        assert one.score(*OTHER) > 0.95
