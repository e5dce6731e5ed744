"""MetricLearner: from labels or statements to an embedding, its coordinates, signs and scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from little_problems import (
    FAST,
    beside_loud_noise,
    pairs_within,
    raw_auroc,
    some_digits,
    three_blobs,
    triplets_within,
)
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from torch import nn

from twofold import (
    LabelRelation,
    MetricLearner,
    PairRelation,
    SiameseLearner,
    TripletRelation,
    solve_targets,
)
from twofold.evaluation import knn_accuracy, pair_auroc

X, Y = three_blobs()


def memory(**parameters) -> MetricLearner:
    """Return a learner that gives every training item its own target back."""
    return MetricLearner(embedder=KNeighborsRegressor(1), **{**FAST, **parameters})


def labels_of_two_kinds(n_items: int = 60) -> np.ndarray:
    """Return 0/1 indicators: the class, and a label that runs across classes."""
    return np.column_stack([np.eye(3, dtype=int)[Y], np.arange(n_items) % 2])


# ---- what is learnt ----


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
@pytest.mark.parametrize("embedder", ["mlp", "mnist", Ridge()])
def test_digits_that_were_not_seen_are_told_apart(loss, embedder):
    X, y, other_X, other_y = some_digits()
    learner = MetricLearner(loss=loss, embedder=embedder, max_epochs=12, random_state=0)
    learner.fit(X, y)
    assert learner.score(other_X, other_y) > (0.9 if embedder in ("mlp", "mnist") else 0.85)


def test_the_defaults_put_digits_beside_their_like():
    X, y, other_X, other_y = some_digits(600)
    learner = MetricLearner(random_state=0).fit(X, y)
    found = knn_accuracy(learner.transform(X), y, learner.transform(other_X), other_y, k=5)
    assert found > 0.85  # the last digits are by other hands; chance is 0.1


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_the_embedding_is_in_the_targets_own_coordinates(loss):
    learner = memory(loss=loss).fit(X, Y)
    np.testing.assert_allclose(learner.transform(X), learner.targets_, atol=1e-6)


def test_targets_far_from_the_origin_are_found_again():
    relation = PairRelation([0, 1], [1, 2], [1, 0], 60)
    learner = memory(loss="dot", dim=1, feedback=0).fit(X, relation=relation)
    np.testing.assert_allclose(learner.transform(X[:3]), learner.targets_[:3], atol=1e-6)


def test_targets_are_those_of_phase_1():
    learner = memory().fit(X, Y)
    solution = solve_targets(LabelRelation(Y), 4, loss="dot")
    np.testing.assert_allclose(learner.targets_, solution.points, atol=1e-6)
    assert learner.targets_.dtype == np.float32


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    def found(seed):
        return MetricLearner(**{**FAST, "random_state": seed}).fit(X, Y).transform(X)

    assert found(3).tobytes() == found(3).tobytes()
    assert found(3).tobytes() != found(4).tobytes()


def test_a_generator_goes_on_from_fit_to_fit():
    rng = np.random.default_rng(0)
    learner = MetricLearner(**{**FAST, "random_state": rng})
    first = learner.fit(X, Y).transform(X)
    assert not np.array_equal(learner.fit(X, Y).transform(X), first)


def test_what_was_learnt_is_told():
    learner = MetricLearner(validation_fraction=0.2, **FAST).fit(X, Y)
    assert learner.dim_ == 4
    assert learner.n_features_in_ == 5
    assert set(learner.timing_) == {"targets", "regression"}
    assert min(learner.timing_.values()) > 0
    assert len(learner.history_["regression"]) == len(learner.history_["validation"]) == 2
    assert learner.history_["best_epoch"] in (1, 2)
    assert learner.history_["targets"]


def test_the_history_of_a_regressor_has_phase_1_only():
    learner = memory().fit(X, Y)
    assert set(learner.history_) == {"targets"}
    assert set(learner.timing_) == {"targets", "regression"}


# ---- dimensions, grades, recipes ----


@pytest.mark.parametrize(("n_classes", "loss", "dim"), [(3, "dot", 16), (20, "dot", 20)])
def test_more_classes_than_sixteen_take_as_many_dimensions(n_classes, loss, dim):
    y = np.arange(60) % n_classes
    learner = MetricLearner(loss=loss, embedder=Ridge()).fit(X, y)
    assert learner.dim_ == dim
    assert learner.transform(X).shape == (60, dim)


def test_the_dimensions_are_bounded():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 300
    learner = MetricLearner(embedder=Ridge(), random_state=0).fit(rng.normal(size=(600, 3)), y)
    assert learner.dim_ == 256


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("contrastive", {"y": np.arange(60) % 20}),
        ("dot", {"y": np.tile(np.tri(20, dtype=int), (3, 1))[:, 1:]}),
        ("dot", {"relation": pairs_within(Y)}),
    ],
)
@pytest.mark.filterwarnings("ignore:3 of 60 rows have no label")
def test_what_is_no_whole_relation_of_classes_takes_sixteen_dimensions(loss, given):
    learner = MetricLearner(embedder=Ridge(), loss=loss, feedback=0, random_state=0)
    assert learner.fit(X, **given).dim_ == 16


def test_a_class_that_occurs_nowhere_takes_no_dimension():
    y = np.zeros((60, 40), dtype=int)
    y[np.arange(60), np.arange(60) % 18] = 1
    assert MetricLearner(embedder=Ridge()).fit(X, y).dim_ == 18


@pytest.mark.parametrize(
    ("parameters", "grade"),
    [
        ({}, "jaccard"),
        ({"grade": "overlap"}, "overlap"),
        ({"grade": "jaccard"}, "jaccard"),
        ({"loss": "contrastive"}, "overlap"),
        ({"pairs": "sampled"}, "overlap"),
        ({"pairs": "sampled", "grade": "jaccard"}, "jaccard"),
    ],
)
def test_the_grade_of_several_labels(parameters, grade, monkeypatch):
    seen = []

    def solve(relation, *args, **kwargs):
        seen.append(relation)
        return solve_targets(relation, *args, **kwargs)

    monkeypatch.setattr("twofold.estimators._metric_learner.solve_targets", solve)
    y = labels_of_two_kinds()
    memory(**parameters).fit(X, y)
    if parameters.get("pairs") == "sampled":
        assert isinstance(seen[0], PairRelation)
        graded = bool(((seen[0].similar > 0) & (seen[0].similar < 1)).any())
        assert graded == (grade == "jaccard")
    else:
        assert seen[0].grade == grade


@pytest.mark.parametrize(("loss", "metric"), [("contrastive", "euclidean"), ("dot", "dot")])
def test_the_papers_recipes_solve_sampled_pairs(loss, metric, monkeypatch):
    seen = []

    def solve(relation, dim, **kwargs):
        seen.append((relation, kwargs))
        return solve_targets(relation, dim, **kwargs)

    monkeypatch.setattr("twofold.estimators._metric_learner.solve_targets", solve)
    recipe = {"loss": loss, "pairs": "sampled", "feedback": 0}
    learner = memory(**recipe, n_similar=3, n_dissimilar=5, margin=2.0).fit(X, Y)
    relation, parameters = seen[0]
    assert isinstance(relation, PairRelation)
    assert relation.similar.sum() == 3 * 60
    assert relation.n_pairs == 8 * 60
    assert (parameters["loss"], parameters["margin"]) == (loss, 2.0)
    assert learner.metric_ == metric
    assert learner.score(X, Y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "start"),
    [
        ({"pairs": "sampled", "feedback": 0}, "random"),
        ({"pairs": "sampled"}, None),
        ({"feedback": 0}, None),
    ],
)
def test_the_paper_to_the_letter_starts_at_random(parameters, start, monkeypatch):
    seen = []

    def solve(relation, dim, **kwargs):
        seen.append(kwargs.get("init"))
        return solve_targets(relation, dim, **kwargs)

    monkeypatch.setattr("twofold.estimators._metric_learner.solve_targets", solve)
    memory(**parameters).fit(X, Y)
    assert seen == [start]


@pytest.mark.filterwarnings("ignore:1 of 60 items have no similar partner")
def test_a_row_that_sampling_gave_no_pair_has_no_target():
    y = Y.copy()
    y[-1] = 99
    learner = memory(pairs="sampled", n_dissimilar=0).fit(X, y)
    assert np.isnan(learner.targets_[-1]).all()


# ---- y ----


def test_classes_may_be_text_numbers_or_a_column():
    expected = memory().fit(X, Y).transform(X)
    for y in (
        np.array(["a", "b", "c"])[Y],
        np.array(["a", "b", "c"])[Y].tolist(),
        Y.astype(float),
        Y[:, None],
        Y.tolist(),
        np.array(["a", "b", "c"], dtype=object)[Y],
    ):
        np.testing.assert_allclose(memory().fit(X, y).transform(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    "kind", ["minus_one", "nan", "none", "none_in_a_list", "none_in_a_column", "nan_in_a_list"]
)
@pytest.mark.parametrize("embedder", [KNeighborsRegressor(1), Ridge()])
def test_rows_of_unknown_class_have_no_target_and_no_influence(kind, embedder):
    unknown = np.arange(60) % 4 == 0
    names = np.array(["a", "b", "c"], dtype=object)[Y]
    names[unknown] = None
    y = {
        "minus_one": np.where(unknown, -1, Y),
        "nan": np.where(unknown, np.nan, Y),
        "none": names,
        "none_in_a_list": names.tolist(),
        "none_in_a_column": names[:, None],
        # NumPy alone would make the text "nan" of this one.
        "nan_in_a_list": [np.nan if name is None else name for name in names],
    }[kind]
    learner = MetricLearner(embedder=embedder, **FAST).fit(X, y)
    assert np.isnan(learner.targets_[unknown]).all()
    assert np.isfinite(learner.targets_[~unknown]).all()
    subset = MetricLearner(embedder=embedder, **FAST).fit(X[~unknown], Y[~unknown])
    np.testing.assert_allclose(learner.transform(X), subset.transform(X), atol=1e-6)


def test_rows_of_unknown_class_do_not_train_the_network(monkeypatch):
    unknown = np.arange(60) % 4 == 0
    moved = X.copy()
    moved[unknown] = moved[unknown][::-1]  # the same values in all, so that scaling is the same
    y = np.where(unknown, -1, Y)
    found = MetricLearner(**FAST).fit(X, y).transform(X)
    again = MetricLearner(**FAST).fit(moved, y).transform(X)
    np.testing.assert_allclose(found, again, atol=1e-5)


@pytest.mark.parametrize("form", ["frame", "coo"])
def test_a_regressor_gets_the_known_rows_of_any_table(form):
    table = pd.DataFrame(X, columns=list("abcde")) if form == "frame" else sparse.coo_matrix(X)
    y = np.where(np.arange(60) % 4 == 0, -1, Y)
    learner, plain = memory().fit(table, y), memory().fit(X, y)
    np.testing.assert_allclose(learner.transform(table), plain.transform(X), atol=1e-6)


def test_indicators_may_be_dense_sparse_or_a_frame():
    y = labels_of_two_kinds()
    expected = memory().fit(X, y).targets_
    for given in (y.astype(bool), y.astype(float), sparse.csr_array(y), sparse.csc_matrix(y)):
        np.testing.assert_allclose(memory().fit(X, given).targets_, expected, atol=1e-5)
    frame = pd.DataFrame(y, columns=list("wxyz"))
    np.testing.assert_allclose(memory().fit(X, frame).targets_, expected, atol=1e-5)


def test_one_hot_indicators_are_classes():
    found = memory().fit(X, np.eye(3, dtype=int)[Y]).targets_
    np.testing.assert_allclose(found @ found.T, Y[:, None] == Y, atol=1e-5)


# ---- relation ----


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
@pytest.mark.parametrize("feedback", ["auto", 0])
def test_pairs_are_learnt_from(loss, feedback):
    features, y = beside_loud_noise()
    relation = pairs_within(y, 600)
    learner = memory(loss=loss, feedback=feedback).fit(features, relation=relation)
    assert learner.metric_ == ("dot" if loss == "dot" else "euclidean")
    assert raw_auroc(features, relation) < 0.7
    assert learner.score(features, y) > 0.95


def test_a_label_relation_is_the_same_as_labels():
    found = memory().fit(X, relation=LabelRelation(Y)).transform(X)
    np.testing.assert_array_equal(found, memory().fit(X, Y).transform(X))


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
@pytest.mark.parametrize("feedback", ["auto", 0])
def test_triplets_are_learnt_from_and_compared_by_distance(loss, feedback):
    features, y = beside_loud_noise()
    learner = memory(loss=loss, feedback=feedback)
    learner.fit(features, relation=triplets_within(y, 3000))
    assert learner.metric_ == "euclidean"
    assert learner.score(features, y) > 0.9


@pytest.mark.parametrize("embedder", [KNeighborsRegressor(1), Ridge()])
def test_rows_in_no_pair_have_no_target_and_no_influence(embedder):
    relation = pairs_within(Y[:40], n_items=60)
    learner = MetricLearner(embedder=embedder, feedback=0, **FAST).fit(X, relation=relation)
    assert np.isnan(learner.targets_[40:]).all()
    assert np.isfinite(learner.targets_[:40]).all()
    wild = X.copy()
    wild[40:] = 1e6
    again = MetricLearner(embedder=embedder, feedback=0, **FAST).fit(wild, relation=relation)
    np.testing.assert_array_equal(learner.transform(X), again.transform(X))


def test_rows_in_no_pair_do_not_shift_the_targets():
    relation = pairs_within(Y[:40], n_items=60)
    learner = memory(feedback=0).fit(X, relation=relation)
    np.testing.assert_allclose(learner.transform(X[:40]), learner.targets_[:40], atol=1e-6)
    np.testing.assert_allclose(learner._mean, learner.targets_[:40].mean(axis=0), atol=1e-6)


def test_rows_in_no_triplet_have_no_target():
    learner = memory(feedback=0).fit(X, relation=TripletRelation([0, 1], [1, 0], [2, 3], 60))
    assert np.isfinite(learner.targets_[:4]).all()
    assert np.isnan(learner.targets_[4:]).all()


# ---- pairs of new rows ----


def test_similarity_and_distance_follow_the_metric():
    A, B = X[:20], X[20:40]
    dot = MetricLearner(**FAST).fit(X, Y)
    a, b = dot.transform(A), dot.transform(B)
    assert dot.metric_ == "dot"
    np.testing.assert_allclose(dot.pair_similarity(A, B), (a * b).sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(dot.pair_distance(A, B), 1 - (a * b).sum(axis=1), atol=1e-5)
    near = MetricLearner(loss="contrastive", **FAST).fit(X, Y)
    gaps = np.linalg.norm(near.transform(A) - near.transform(B), axis=1)
    assert near.metric_ == "euclidean"
    np.testing.assert_allclose(near.pair_similarity(A, B), -gaps, atol=1e-5)
    np.testing.assert_allclose(near.pair_distance(A, B), gaps, atol=1e-5)


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_the_alike_are_similar_and_near(loss):
    learner = memory(loss=loss).fit(X, Y)
    first = [np.flatnonzero(k == Y)[0] for k in range(3)]
    second = [np.flatnonzero(k == Y)[1] for k in range(3)]
    alike = learner.pair_similarity(X[first], X[second])
    other = learner.pair_similarity(X[first], X[second[::-1][:1] + second[:-1]])
    assert alike.min() > other.max()
    near = learner.pair_distance(X[first], X[second])
    far = learner.pair_distance(X[first], X[second[::-1][:1] + second[:-1]])
    assert near.max() < far.min()


# ---- score ----


def noisy(loss: str = "dot") -> MetricLearner:
    """Return a learner that is neither right nor wrong about all pairs."""
    rng = np.random.default_rng(0)
    features = np.column_stack([X[:, 0], rng.normal(size=60)])
    return MetricLearner(loss=loss, embedder=Ridge(), **FAST).fit(features, Y), features


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_the_score_of_pairs_is_their_auroc(loss):
    learner, features = noisy(loss)
    relation = pairs_within(Y)
    points = learner.transform(features)
    a, b = points[relation.left], points[relation.right]
    similarity = (a * b).sum(axis=1) if loss == "dot" else -np.linalg.norm(a - b, axis=1)
    found = learner.score(features, relation=relation)
    assert found == pytest.approx(pair_auroc(relation.similar, similarity), abs=1e-6)
    assert 0.5 < found < 1


def test_grades_above_one_half_count_as_alike():
    learner, features = noisy()
    rng = np.random.default_rng(1)
    left, right = np.arange(0, 30), np.arange(30, 60)
    grades = rng.uniform(size=30).astype(np.float32)
    graded = PairRelation(left, right, grades, 60)
    rounded = PairRelation(left, right, grades > 0.5, 60)
    found = learner.score(features, relation=graded)
    assert found == learner.score(features, relation=rounded)


@pytest.mark.parametrize("labels", ["classes", "indicator"])
def test_the_score_of_labels_is_that_of_pairs_drawn_from_them(labels):
    learner, features = noisy()
    y = Y if labels == "classes" else labels_of_two_kinds()
    relation = LabelRelation(y).sample_pairs(random_state=0)
    found = learner.score(features, y)
    assert found == learner.score(features, y)
    assert found == learner.score(features, relation=relation)
    assert found == learner.score(features, relation=LabelRelation(y))
    assert type(found) is float


def test_the_score_of_triplets_is_the_share_in_the_right_order():
    learner, features = noisy()
    rng = np.random.default_rng(0)
    a, p, n = (rng.permutation(60)[:20] for _ in range(3))
    keep = (a != p) & (a != n) & (p != n)
    a, p, n = a[keep], p[keep], n[keep]
    points = learner.transform(features)
    right = [points[i] @ points[j] > points[i] @ points[k] for i, j, k in zip(a, p, n, strict=True)]
    found = learner.score(features, relation=TripletRelation(a, p, n, 60))
    assert found == pytest.approx(np.mean(right))


def test_triplets_that_are_tied_count_one_half():
    learner = memory().fit(X, Y)
    one, two, three = np.flatnonzero(Y == 0)[:3]
    assert learner.score(X, relation=TripletRelation([one], [two], [three], 60)) == 0.5


def test_a_better_embedding_scores_better():
    learner = memory().fit(X, Y)
    assert learner.score(X, Y) == 1
    shuffled = memory().fit(X, np.random.default_rng(0).permutation(Y))
    assert shuffled.score(X, Y) < 0.7


@pytest.mark.parametrize("method", ["score", "calibrate_threshold"])
def test_lists_are_scored_and_calibrated_on_as_they_are_fitted(method):
    learner = memory().fit(X.tolist(), Y.tolist())
    getattr(learner, method)(X.tolist(), Y.tolist())


def test_the_rivals_share_the_score():
    rival = SiameseLearner(**FAST).fit(X, Y)
    relation = pairs_within(Y)
    gaps = rival.pair_distance(X[relation.left], X[relation.right])
    assert rival.score(X, relation=relation) == pytest.approx(pair_auroc(relation.similar, -gaps))


SEVERAL_LABELS = np.tile([[1, 0, 0], [1, 1, 0], [0, 0, 1]], (10, 1))


@pytest.mark.parametrize(
    ("dropout", "labels", "expected"),
    [
        ("auto", np.tile([0, 1, 2], 10), 0.2),
        ("auto", SEVERAL_LABELS, 0.5),
        (0.35, np.tile([0, 1, 2], 10), 0.35),
    ],
)
def test_dropout_is_lower_for_classes_unless_it_is_given(dropout, labels, expected):
    learner = MetricLearner(2, dropout=dropout, max_epochs=1, device="cpu", random_state=0)
    learner.set_params(dim=3).fit(np.random.default_rng(0).normal(size=(30, 4)), labels)
    layers = learner.embedder_.network.modules()
    assert {layer.p for layer in layers if isinstance(layer, nn.Dropout)} == {expected}


@pytest.mark.parametrize("dropout", [1.0, -0.1])
def test_a_dropout_outside_its_range_is_refused(dropout):
    with pytest.raises(ValueError, match="dropout must be"):
        MetricLearner(2, dropout=dropout, device="cpu").fit(np.eye(4), [0, 0, 1, 1])
