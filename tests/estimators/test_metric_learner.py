"""MetricLearner: from labels or statements to an embedding, its signs, scores and thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import (
    OTHER,
    PAIRS,
    TRIPLETS,
    X,
    Y,
    pairs_within,
    quick_learner,
    table,
    triplets_within,
)
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold import LabelRelation, Network, PairRelation, Targets, TripletRelation, solve_targets
from twofold.evaluation import pair_auroc

TWO_KINDS = np.column_stack([np.eye(3, dtype=int)[Y], np.arange(60) % 2])
"""0/1 indicators: the class, and a label that runs across classes."""
ALIKE = PAIRS.similar == 1
HARD = X[:, [0, 2]]
"""A column that tells something, and one of noise."""
BOTH_LOSSES = pytest.mark.parametrize("loss", ["dot", "contrastive"])


def memory(**parameters):
    """Return a learner that gives every training item its own target back."""
    return quick_learner(**{"embedder": KNeighborsRegressor(1), **parameters})


def unsure(loss: str = "dot"):
    """Return a fitted learner that is neither right nor wrong about all pairs."""
    return quick_learner(targets=Targets(loss), embedder=Ridge()).fit(HARD, Y)


@BOTH_LOSSES
def test_the_embedding_is_in_the_targets_own_coordinates(loss):
    learner = memory(targets=Targets(loss)).fit(X, Y)
    np.testing.assert_allclose(learner.transform(X), learner.targets_, atol=1e-6)
    solution = solve_targets(LabelRelation(Y), 4, loss=loss, device="cpu", random_state=0)
    np.testing.assert_allclose(learner.targets_, solution.points, atol=1e-5)
    np.testing.assert_allclose(learner.solve_targets(Y).points, solution.points, atol=1e-5)
    relation = PairRelation([0, 1], [1, 2], [1, 0], 60)  # far from the origin
    learner = memory(n_components=1, feedback=0).fit(X, relation=relation)
    np.testing.assert_allclose(learner.transform(X[:3]), learner.targets_[:3], atol=1e-6)


@pytest.mark.parametrize("feedback", [2, 0])
@pytest.mark.parametrize("given", [{"y": Y}, {"relation": PAIRS}], ids=["labels", "pairs"])
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(feedback, given):
    def learnt(seed):
        learner = quick_learner(validation_fraction=0, feedback=feedback, random_state=seed)
        return learner.fit(X, **given).transform(X).tobytes()

    assert learnt(3) == learnt(3)
    assert learnt(3) != learnt(4)


def test_labels_may_be_text_numbers_a_column_or_indicators_of_any_kind():
    expected = memory().fit(X, Y).targets_
    names = np.array(["a", "b", "c"])[Y]
    for y in (names, names.tolist(), names.astype(object), Y.astype(float), Y[:, None], Y.tolist()):
        np.testing.assert_allclose(memory().fit(X, y).targets_, expected, atol=1e-6)
    one_hot = memory().fit(X, np.eye(3, dtype=int)[Y]).targets_
    np.testing.assert_allclose(one_hot @ one_hot.T, Y[:, None] == Y, atol=1e-5)
    expected = memory().fit(X, TWO_KINDS).targets_
    for form in (np.float64, bool, sparse.csr_array, sparse.csc_matrix, table):
        y = TWO_KINDS.astype(form) if form in (np.float64, bool) else form(TWO_KINDS)
        np.testing.assert_allclose(memory().fit(X, y).targets_, expected, atol=1e-5)


UNKNOWN = np.arange(60) % 4 == 0
NAMES = np.where(UNKNOWN, None, np.array(["a", "b", "c"], dtype=object)[Y])


@pytest.mark.parametrize(
    "y",
    [
        np.where(UNKNOWN, -1, Y),
        np.where(UNKNOWN, np.nan, Y),
        NAMES,
        NAMES.tolist(),
        NAMES[:, None],
        # NumPy alone would make the text "nan" of this one.
        [np.nan if name is None else name for name in NAMES],
    ],
    ids=["minus one", "nan", "none", "none in a list", "none in a column", "nan in a list"],
)
def test_rows_of_unknown_class_have_no_target_and_no_influence(y):
    learner = memory().fit(X, y)
    assert np.isnan(learner.targets_[UNKNOWN]).all()
    subset = memory().fit(X[~UNKNOWN], Y[~UNKNOWN])
    np.testing.assert_allclose(learner.transform(X), subset.transform(X), atol=1e-6)
    by_feedback = quick_learner(embedder="auto", feedback=1, validation_fraction=0).fit(X, y)
    np.testing.assert_array_equal(np.isnan(by_feedback.targets_[:, 0]), UNKNOWN)


@pytest.mark.parametrize("loss", ["auto", "dot", "contrastive"])
@pytest.mark.parametrize("feedback", ["auto", 0])
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_statements_are_learnt_from(loss, feedback, kind):
    relation = pairs_within(Y, 600) if kind == "pairs" else triplets_within(Y, 3000)
    learner = quick_learner(targets=Targets(loss), feedback=feedback, embedder=Ridge())
    learner.fit(X, relation=relation)
    by_dot = loss == "dot" or (loss == "auto" and feedback == 0)
    assert learner.metric_ == ("dot" if by_dot and kind == "pairs" else "euclidean")
    assert (learner.selection_ is not None) == (feedback == "auto")
    assert learner.score(*OTHER) > 0.9


@pytest.mark.parametrize(
    ("embedder", "candidate"),
    [
        ("auto", "ridge map"),
        (DummyRegressor(), "ridge map"),
        (Ridge(), "regressor"),
        (Network(max_epochs=15), "network"),
    ],
    ids=["auto", "dummy", "ridge", "mlp"],
)
def test_what_is_brought_is_taken_if_it_is_as_good(embedder, candidate):
    learner = quick_learner(n_components="auto", embedder=embedder).fit(X, relation=PAIRS)
    selection = learner.selection_
    assert selection.candidate == candidate
    assert learner.score(*OTHER) > 0.95
    assert selection.expected["new items"] > selection.reference
    assert set(selection.expected) == {"new items", "known items"}
    told = learner.history_["feedback"]
    assert (told["candidate"], told["round"]) == (selection.candidate, selection.n_rounds)
    assert min(learner.timing_.values()) > 0


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("feedback", [2, 0])
def test_rows_in_no_statement_have_no_target_and_without_feedback_no_influence(kind, feedback):
    relation = pairs_within(Y[:40]) if kind == "pairs" else triplets_within(Y[:40])
    wild = np.concatenate([X[:40], np.full((20, 5), 1e6, dtype=np.float32)])
    learner, other = (
        quick_learner(embedder=Ridge(), feedback=feedback, validation_fraction=0).fit(
            features, relation=relation.over(60)
        )
        for features in (X, wild)
    )
    np.testing.assert_array_equal(np.isnan(learner.targets_[:, 0]), np.arange(60) >= 40)
    assert np.isfinite(learner.transform(X)).all()
    if not feedback:
        np.testing.assert_allclose(learner.transform(X), other.transform(X), atol=1e-5)


@BOTH_LOSSES
def test_similarity_distance_and_score_follow_the_metric(loss):
    learner = unsure(loss)
    A, B = HARD[PAIRS.left], HARD[PAIRS.right]
    a, b = learner.transform(A), learner.transform(B)
    similarity, distance = (a * b).sum(axis=1), 1 - (a * b).sum(axis=1)
    if loss == "contrastive":
        distance = np.linalg.norm(a - b, axis=1)
        similarity = -distance
    np.testing.assert_allclose(learner.pair_similarity(A, B), similarity, atol=1e-5)
    np.testing.assert_allclose(learner.pair_distance(A, B), distance, atol=1e-5)
    assert distance[ALIKE].mean() < distance[~ALIKE].mean()
    score = learner.score(HARD, relation=PAIRS)
    assert score == pytest.approx(pair_auroc(ALIKE, similarity), abs=1e-3)
    assert 0.5 < score < 1
    graded = PairRelation(PAIRS.left, PAIRS.right, 0.3 + 0.3 * PAIRS.similar, 60)
    assert learner.score(HARD, relation=graded) == score  # above one half is alike


@pytest.mark.parametrize("y", [Y, TWO_KINDS], ids=["classes", "indicator"])
def test_the_score_and_threshold_of_labels_are_those_of_pairs_drawn_from_them(y):
    learner = unsure()
    pairs = LabelRelation(y).sample_pairs(random_state=0)
    score = learner.score(HARD, y)
    reached = learner.calibrate_threshold(HARD, y).calibration_
    assert type(score) is float
    for features, given in (
        (HARD, {"relation": pairs}),
        (HARD, {"relation": LabelRelation(y)}),
        (HARD.tolist(), {"y": y.tolist()}),
    ):
        # A list is another array of the same numbers: BLAS may round the points otherwise.
        assert learner.score(features, **given) == pytest.approx(score, abs=1e-3)
        again = learner.calibrate_threshold(features, **given).calibration_
        assert again.threshold == pytest.approx(reached.threshold, rel=1e-5)
        assert again.true_positive_rate == pytest.approx(reached.true_positive_rate, abs=0.01)


def test_the_score_of_triplets_is_the_share_in_the_right_order():
    learner = unsure()
    points = learner.transform(HARD)
    near = (points[TRIPLETS.anchor] * points[TRIPLETS.positive]).sum(axis=1)
    far = (points[TRIPLETS.anchor] * points[TRIPLETS.negative]).sum(axis=1)
    score = learner.score(HARD, relation=TRIPLETS)
    assert score == pytest.approx(np.mean(near > far), abs=0.02)
    flipped = TripletRelation(TRIPLETS.anchor, TRIPLETS.negative, TRIPLETS.positive, 60)
    assert learner.score(HARD, relation=flipped) == pytest.approx(1 - score)
    one, two, three = np.flatnonzero(Y == 0)[:3]
    tied = TripletRelation([one], [two], [three], 60)
    assert memory().fit(X, Y).score(X, relation=tied) == 0.5


@BOTH_LOSSES
@pytest.mark.parametrize(("strategy", "given"), [("accuracy", {}), ("max_tpr", {"min_rate": 0.9})])
def test_a_threshold_is_the_best_there_is_and_the_next_fit_forgets_it(loss, strategy, given):
    learner = unsure(loss)
    A, B = HARD[PAIRS.left], HARD[PAIRS.right]
    similarity = learner.pair_similarity(A, B)

    def merit(called):
        if strategy == "accuracy":
            return np.mean(called == ALIKE)
        return called[ALIKE].mean() if called[~ALIKE].mean() <= 0.1 else -1

    best = max(merit(similarity >= at) for at in [np.inf, *np.unique(similarity)])
    same = learner.calibrate_threshold(HARD, relation=PAIRS, strategy=strategy, **given)
    assert same is learner
    called = learner.predict_pairs(A, B)
    assert merit(called) == pytest.approx(best, abs=0.01)
    assert learner.calibration_.accuracy == pytest.approx(np.mean(called == ALIKE), abs=0.01)
    assert learner.calibration_.threshold == learner.threshold_
    learner.threshold_ = float(similarity[3])  # a pair at the threshold is alike
    np.testing.assert_array_equal(learner.predict_pairs(A, B), similarity >= similarity[3])
    learner.fit(HARD, Y)
    assert not hasattr(learner, "calibration_")
    with pytest.raises(ValueError, match="There is no threshold yet: call calibrate_threshold"):
        learner.predict_pairs(A, B)
