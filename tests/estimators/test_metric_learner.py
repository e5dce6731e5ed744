"""MetricLearner: from labels or statements to an embedding, its coordinates, signs and scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from little_problems import (
    beside_loud_noise,
    pairs_within,
    quick_learner,
    three_blobs,
    triplets_within,
)
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold import (
    LabelRelation,
    MetricLearner,
    Network,
    PairRelation,
    Targets,
    TripletRelation,
    solve_targets,
)
from twofold.evaluation import pair_auroc

X, Y = three_blobs()
LOUD, LOUD_Y = beside_loud_noise()
OTHER, OTHER_Y = beside_loud_noise(seed=1)
PAIRS = pairs_within(LOUD_Y)


def memory(**parameters) -> MetricLearner:
    """Return a learner that gives every training item its own target back."""
    return quick_learner(**{"embedder": KNeighborsRegressor(1), **parameters})


def labels_of_two_kinds() -> np.ndarray:
    """Return 0/1 indicators: the class, and a label that runs across classes."""
    return np.column_stack([np.eye(3, dtype=int)[Y], np.arange(60) % 2])


# ---- what is learnt from labels ----


@pytest.mark.parametrize(
    ("targets", "embedder"),
    [
        ("auto", Network(max_epochs=8)),
        ("fml-c", Network("mnist", max_epochs=8)),
        ("fml-dp", Ridge()),
    ],
)
def test_digits_that_were_not_seen_are_told_apart(targets, embedder):
    images, y = load_digits(return_X_y=True)
    learner = quick_learner(n_components="auto", targets=targets, embedder=embedder)
    learner.fit(images[:300], y[:300])
    assert learner.score(images[-200:], y[-200:]) > 0.83


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_the_embedding_is_in_the_targets_own_coordinates(loss):
    learner = memory(targets=Targets(loss)).fit(X, Y)
    np.testing.assert_allclose(learner.transform(X), learner.targets_, atol=1e-6)
    solution = solve_targets(LabelRelation(Y), 4, loss=loss, device="cpu", random_state=0)
    np.testing.assert_allclose(learner.targets_, solution.points, atol=1e-5)
    np.testing.assert_allclose(learner.solve_targets(Y).points, solution.points, atol=1e-5)
    relation = PairRelation([0, 1], [1, 2], [1, 0], 60)  # far from the origin
    learner = memory(n_components=1, feedback=0).fit(X, relation=relation)
    np.testing.assert_allclose(learner.transform(X[:3]), learner.targets_[:3], atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ({}, {"y": Y}),
        ({"feedback": 2}, {"relation": PAIRS}),
        ({"feedback": 0}, {"relation": PAIRS}),
    ],
    ids=["labels", "feedback", "statements"],
)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(parameters, given):
    def learnt(seed):
        learner = quick_learner(validation_fraction=0, **{**parameters, "random_state": seed})
        return learner.fit(LOUD, **given).transform(LOUD).tobytes()

    assert learnt(3) == learnt(3)
    assert learnt(3) != learnt(4)


@pytest.mark.parametrize(
    ("n_features", "n_components", "expected"),
    [(5, "auto", 5), (64, "auto", 32), (5, 3, 3), (5, 9, 9), (64, 40, 40)],
)
def test_feedback_learns_in_the_leading_directions(n_features, n_components, expected):
    quiet = np.random.default_rng(0).normal(size=(60, n_features - 5)) / 99
    features = np.column_stack([LOUD, quiet])
    learner = quick_learner(n_components=n_components, embedder="auto", feedback=2)
    learner.set_params(validation_fraction=0).fit(features, relation=PAIRS)
    assert learner.transform(features).shape == learner.targets_.shape == (60, expected)
    assert learner.selection_.n_directions == learner.n_components_ == expected


# ---- y ----


def test_classes_may_be_text_numbers_or_a_column():
    expected = memory().fit(X, Y).transform(X)
    names = np.array(["a", "b", "c"])[Y]
    for y in (names, names.tolist(), names.astype(object), Y.astype(float), Y[:, None], Y.tolist()):
        np.testing.assert_allclose(memory().fit(X, y).transform(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    "kind", ["minus one", "nan", "none", "none in a list", "none in a column", "nan in a list"]
)
def test_rows_of_unknown_class_have_no_target_and_no_influence(kind):
    unknown = np.arange(60) % 4 == 0
    names = np.array(["a", "b", "c"], dtype=object)[Y]
    names[unknown] = None
    y = {
        "minus one": np.where(unknown, -1, Y),
        "nan": np.where(unknown, np.nan, Y),
        "none": names,
        "none in a list": names.tolist(),
        "none in a column": names[:, None],
        # NumPy alone would make the text "nan" of this one.
        "nan in a list": [np.nan if name is None else name for name in names],
    }[kind]
    learner = memory().fit(X, y)
    assert np.isnan(learner.targets_[unknown]).all()
    assert np.isfinite(learner.targets_[~unknown]).all()
    subset = memory().fit(X[~unknown], Y[~unknown])
    np.testing.assert_allclose(learner.transform(X), subset.transform(X), atol=1e-6)


def test_rows_of_unknown_class_do_not_train_a_network_nor_have_a_target_with_feedback():
    y = np.where(np.arange(60) % 4 == 0, -1, Y)
    moved = X.copy()
    moved[::4] = moved[::4][::-1]  # the same values in all, so that scaling is the same
    points, again = (quick_learner().fit(features, y).transform(X) for features in (X, moved))
    np.testing.assert_allclose(points, again, atol=1e-5)
    y = np.where(np.arange(60) % 4 == 0, -1, LOUD_Y)
    learner = quick_learner(embedder="auto", feedback=2, validation_fraction=0).fit(LOUD, y)
    assert np.isnan(learner.targets_[::4]).all()
    assert np.isfinite(learner.targets_[1::4]).all()


def test_indicators_may_be_dense_sparse_or_a_table():
    y = labels_of_two_kinds()
    expected = memory().fit(X, y).targets_
    for given in (
        y.astype(bool),
        y.astype(float),
        sparse.csr_array(y),
        sparse.csc_matrix(y),
        pd.DataFrame(y, columns=list("wxyz")),
    ):
        np.testing.assert_allclose(memory().fit(X, given).targets_, expected, atol=1e-5)
    one_hot = memory().fit(X, np.eye(3, dtype=int)[Y]).targets_
    np.testing.assert_allclose(one_hot @ one_hot.T, Y[:, None] == Y, atol=1e-5)


# ---- statements ----


@pytest.mark.parametrize("loss", ["auto", "dot", "contrastive"])
@pytest.mark.parametrize("feedback", ["auto", 0])
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_statements_are_learnt_from(loss, feedback, kind):
    relation = pairs_within(LOUD_Y, 600) if kind == "pairs" else triplets_within(LOUD_Y, 3000)
    learner = quick_learner(targets=Targets(loss), feedback=feedback, embedder=Ridge())
    learner.fit(LOUD, relation=relation)
    by_dot = loss == "dot" or (loss == "auto" and feedback == 0)
    assert learner.metric_ == ("dot" if by_dot and kind == "pairs" else "euclidean")
    assert (learner.selection_ is not None) == (feedback == "auto")
    assert learner.score(OTHER, OTHER_Y) > 0.9


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
    learner = quick_learner(n_components="auto", embedder=embedder).fit(LOUD, relation=PAIRS)
    selection = learner.selection_
    assert selection.candidate == candidate
    assert learner.score(OTHER, OTHER_Y) > 0.95
    assert selection.expected["new items"] > selection.reference
    assert set(selection.expected) == {"new items", "known items"}
    told = learner.history_["feedback"]
    assert (told["candidate"], told["round"]) == (selection.candidate, selection.n_rounds)
    assert min(learner.timing_.values()) > 0


def test_feedback_learns_more_from_few_pairs_than_two_phases_alone():
    few = pairs_within(LOUD_Y, 90)
    by_feedback = quick_learner(embedder="auto", feedback=10).fit(LOUD, relation=few)
    alone = quick_learner(embedder=Ridge(), feedback=0).fit(LOUD, relation=few)
    assert by_feedback.score(OTHER, OTHER_Y) > alone.score(OTHER, OTHER_Y)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("feedback", [2, 0])
def test_rows_in_no_statement_have_no_target_and_without_feedback_no_influence(kind, feedback):
    relation = pairs_within(LOUD_Y[:40]) if kind == "pairs" else triplets_within(LOUD_Y[:40])
    wild = np.concatenate([LOUD[:40], np.full((20, 5), 1e6, dtype=np.float32)])
    learner, other = (
        quick_learner(embedder=Ridge(), feedback=feedback, validation_fraction=0).fit(
            features, relation=relation.over(60)
        )
        for features in (LOUD, wild)
    )
    assert np.isnan(learner.targets_[40:]).all()
    assert np.isfinite(learner.targets_[:40]).all()
    assert np.isfinite(learner.transform(LOUD)).all()
    if not feedback:
        np.testing.assert_allclose(learner.transform(LOUD), other.transform(LOUD), atol=1e-5)


# ---- pairs of new rows, and scores ----


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_similarity_and_distance_follow_the_metric(loss):
    A, B = X[:20], X[20:40]
    learner = memory(targets=Targets(loss)).fit(X, Y)
    a, b = learner.transform(A), learner.transform(B)
    similarity, distance = (a * b).sum(axis=1), 1 - (a * b).sum(axis=1)
    if loss == "contrastive":
        distance = np.linalg.norm(a - b, axis=1)
        similarity = -distance
    np.testing.assert_allclose(learner.pair_similarity(A, B), similarity, atol=1e-5)
    np.testing.assert_allclose(learner.pair_distance(A, B), distance, atol=1e-5)
    alike = Y[:20] == Y[20:40]
    assert similarity[alike].min() > similarity[~alike].max()
    assert distance[alike].max() < distance[~alike].min()


def noisy(loss: str = "dot"):
    """Return a learner that is neither right nor wrong about all pairs, and its features."""
    features = np.column_stack([X[:, 0], np.random.default_rng(0).normal(size=60)])
    return quick_learner(targets=Targets(loss), embedder=Ridge()).fit(features, Y), features


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_the_score_of_pairs_is_their_auroc(loss):
    learner, features = noisy(loss)
    relation = pairs_within(Y)
    similarity = learner.pair_similarity(features[relation.left], features[relation.right])
    found = learner.score(features, relation=relation)
    assert found == pytest.approx(pair_auroc(relation.similar, similarity), abs=1e-6)
    assert 0.5 < found < 1
    graded = PairRelation(relation.left, relation.right, 0.3 + 0.3 * relation.similar, 60)
    assert learner.score(features, relation=graded) == found  # above one half is alike


@pytest.mark.parametrize("y", [Y, labels_of_two_kinds()], ids=["classes", "indicator"])
def test_the_score_of_labels_is_that_of_pairs_drawn_from_them(y):
    learner, features = noisy()
    relation = LabelRelation(y).sample_pairs(random_state=0)
    found = learner.score(features, y)
    assert found == learner.score(features, y) == learner.score(features, relation=relation)
    assert found == learner.score(features.tolist(), y.tolist())
    assert type(found) is float


def test_the_score_of_triplets_is_the_share_in_the_right_order():
    learner, features = noisy()
    triplets = triplets_within(Y, 100)
    points = learner.transform(features)
    near = (points[triplets.anchor] * points[triplets.positive]).sum(axis=1)
    far = (points[triplets.anchor] * points[triplets.negative]).sum(axis=1)
    found = learner.score(features, relation=triplets)
    assert found == pytest.approx(np.mean(near > far))
    flipped = TripletRelation(triplets.anchor, triplets.negative, triplets.positive, 60)
    assert learner.score(features, relation=flipped) == pytest.approx(1 - found)
    one, two, three = np.flatnonzero(Y == 0)[:3]
    tied = TripletRelation([one], [two], [three], 60)
    assert memory().fit(X, Y).score(X, relation=tied) == 0.5


def test_a_better_embedding_scores_better():
    assert memory().fit(X, Y).score(X, Y) == 1
    assert memory().fit(X, np.random.default_rng(0).permutation(Y)).score(X, Y) < 0.7
