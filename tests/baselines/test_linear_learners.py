"""The linear rivals: MetricLearner's interface, and what each makes of real and noisy data."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.utils.data import TensorDataset

from twofold import LabelRelation, PairRelation, TripletRelation, load
from twofold.baselines import _flat_learner
from twofold.baselines._itml import ITMLLearner
from twofold.baselines._linear import factorise, linear_embedder
from twofold.baselines._linear_nca import NCALearner
from twofold.baselines._lmnn import LMNNLearner
from twofold.baselines._raw import RawFeatures

X, Y = make_blobs(60, 6, centers=3, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)
IMAGES = np.random.default_rng(0).integers(256, size=(60, 2, 3, 4)).astype(np.uint8)
LEARNERS = {
    "raw": RawFeatures(),
    "standardised": RawFeatures(standardise=True),
    "nca": NCALearner(4, random_state=0),
    "lmnn": LMNNLearner(4, tol=0.02),
    "itml": ITMLLearner(4, random_state=0),
}
LEARNING = ["nca", "lmnn", "itml"]
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_that_learns = pytest.mark.parametrize("name", LEARNING)


def fresh(name: str, **parameters):
    return clone(LEARNERS[name]).set_params(**parameters)


def accuracy(learner, X, y, X_new, y_new, k: int = 5) -> float:
    neighbours = KNeighborsClassifier(k).fit(learner.transform(X), y)
    return neighbours.score(learner.transform(X_new), y_new)


# ---- what is learnt ----


@every_that_learns
def test_digits_are_told_apart_at_least_as_well_as_by_their_pixels(name):
    """The mean of three splits, 300 digits to learn from; raw pixels reach 0.943."""
    pixels, y = load_digits(return_X_y=True)
    pixels = pixels / 16
    parameters = {
        "lmnn": {"n_components": 32},
        "nca": {"n_components": 16},
        "itml": {"n_components": None, "gamma": 0.1},
    }
    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:300], order[1347:]
        for learner in (RawFeatures(), fresh(name, **parameters[name])):
            learner.fit(pixels[train], y[train])
            found.append(accuracy(learner, pixels[train], y[train], pixels[test], y[test]))
    raw, learnt = np.mean(found[::2]), np.mean(found[1::2])
    assert learnt > raw


@every_that_learns
def test_a_feature_of_noise_is_shrunk_and_neighbours_are_right_more_often(name):
    rng = np.random.default_rng(0)
    signal, y = make_blobs(400, 2, centers=4, cluster_std=0.7, random_state=3)
    noisy = np.column_stack([signal, 25 * rng.normal(size=(400, 2))])
    learner = fresh(name, n_components=None).fit(noisy[:200], y[:200])
    raw = RawFeatures().fit(noisy)
    before = accuracy(raw, noisy[:200], y[:200], noisy[200:], y[200:], k=3)
    after = accuracy(learner, noisy[:200], y[:200], noisy[200:], y[200:], k=3)
    assert after > before + 0.05
    metric = learner.components_.T @ learner.components_
    assert metric[[2, 3], [2, 3]].max() < 0.25 * metric[[0, 1], [0, 1]].min()
    assert learner.score(noisy[200:], y[200:]) > raw.score(noisy[200:], y[200:]) + 0.05


def test_the_map_is_that_of_scikit_learns_nca():
    learner = NCALearner(2, init="pca", random_state=0).fit(X, Y)
    theirs = NeighborhoodComponentsAnalysis(2, init="pca", max_iter=200, tol=1e-5)
    theirs.fit(X.astype(np.float64), Y)
    np.testing.assert_allclose(learner.components_, theirs.components_)
    assert learner.history_ == {"n_iter": theirs.n_iter_, "converged": True}


def test_nca_warns_if_it_stops_early():
    with pytest.warns(ConvergenceWarning, match="NCALearner stopped after max_iter=1 steps"):
        learner = NCALearner(2, max_iter=1, random_state=0).fit(X, Y)
    assert not learner.history_["converged"]


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_items_of_unknown_class_have_no_say(name):
    y = np.where(np.arange(60) % 4 == 0, -1, Y)
    known = y >= 0
    found = fresh(name).fit(X, y).components_
    np.testing.assert_array_equal(found, fresh(name).fit(X[known], y[known]).components_)


def test_itml_learns_from_pairs():
    pairs = LabelRelation(Y).sample_pairs(4, 4, random_state=0)
    learner = fresh("itml").fit(X, relation=pairs)
    assert learner.score(X, relation=pairs) > RawFeatures().fit(X).score(X, relation=pairs)


# ---- raw features ----


@pytest.mark.parametrize("features", [X, IMAGES, X.astype(np.float64)])
def test_raw_features_are_the_features(features):
    found = RawFeatures().fit(features).transform(features)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, features.reshape(60, -1).astype(np.float32))


def test_standardised_features_have_mean_nothing_and_deviation_one():
    features = np.column_stack([X, np.full(60, 3.0)])
    found = RawFeatures(standardise=True).fit(features).transform(features)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(found.std(axis=0), [1] * 6 + [0], atol=1e-6)


def test_raw_features_need_no_labels():
    learner = RawFeatures().fit(X)
    assert learner.n_components_ == 6
    assert learner.history_ == {}


# ---- the interface ----


@every_learner
def test_the_distance_is_mahalanobis(name):
    learner = fresh(name).fit(X, Y)
    gaps = X[:30].astype(np.float64) - X[30:]
    if name == "raw":
        metric = np.eye(6)
    elif name == "standardised":
        metric = np.diag(1 / X.astype(np.float64).var(axis=0))
    else:
        metric = learner.components_.T @ learner.components_
    wanted = np.sqrt(np.einsum("ni,ij,nj->n", gaps, metric, gaps))
    np.testing.assert_allclose(learner.pair_distance(X[:30], X[30:]), wanted, rtol=1e-5)
    np.testing.assert_allclose(learner.pair_similarity(X[:30], X[30:]), -wanted, rtol=1e-5)
    assert learner.metric_ == "euclidean"


def test_features_may_be_compared_by_their_cosine():
    learner = RawFeatures(metric="cosine").fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = (unit[:30] * unit[30:]).sum(axis=1)
    np.testing.assert_allclose(learner.pair_similarity(X[:30], X[30:]), expected, atol=1e-5)
    np.testing.assert_allclose(learner.pair_distance(X[:30], X[30:]), 1 - expected, atol=1e-5)
    assert learner.metric_ == "cosine"
    with pytest.raises(ValueError, match="metric must be one of 'euclidean', 'cosine', got 'dot'"):
        RawFeatures(metric="dot").fit(X)


@every_learner
def test_models_are_saved_pickled_and_loaded(name, tmp_path):
    for features in (X, IMAGES, sparse.csr_array(X)):
        learner = fresh(name).fit(features, Y)
        learner.calibrate_threshold(features, Y)
        called = learner.predict_pairs(features[:20], features[20:40])
        for again in (load(learner.save(tmp_path / "m")), pickle.loads(pickle.dumps(learner))):
            assert type(again) is type(learner)
            assert again.get_params() == learner.get_params()
            points = again.transform(features), learner.transform(features)
            np.testing.assert_allclose(*points, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(
                again.predict_pairs(features[:20], features[20:40]), called
            )
            assert again.score(features, Y) == pytest.approx(learner.score(features, Y))
    learner.fit(features, Y)
    assert not hasattr(learner, "threshold_")


@every_learner
def test_a_loaded_model_can_be_saved_cloned_and_fitted_again(name, tmp_path):
    learner = fresh(name).fit(X, Y)
    again = load(learner.save(tmp_path / "one"))
    copy = load(again.save(tmp_path / "two"))
    for each in (copy, clone(again).fit(X, Y), again.fit(X, Y)):
        np.testing.assert_allclose(each.transform(X), learner.transform(X), atol=1e-5)


@every_learner
def test_a_loaded_model_knows_its_features(name, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    again = load(fresh(name).fit(frame, Y).save(tmp_path / "m"))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(frame[list("fedcba")])
    again = load(fresh(name).fit(X, Y).save(tmp_path / "m"))
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6 features"):
        again.transform(X[:, :5])


@every_learner
def test_images_are_taken_flat(name):
    flat = IMAGES.reshape(60, -1)
    points = fresh(name).fit(IMAGES, Y).transform(IMAGES)
    expected = fresh(name).fit(flat, Y).transform(flat)
    np.testing.assert_allclose(points, expected, rtol=1e-4, atol=1e-4)


@every_learner
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_features_give_what_dense_ones_give(name, form):
    thin = np.where(np.abs(X) < 2, 0, X)
    found = fresh(name).fit(form(thin), Y).transform(form(thin))
    dense = fresh(name).fit(thin, Y).transform(thin)
    np.testing.assert_allclose(found, dense, atol=1e-5)
    assert isinstance(found, np.ndarray)


@every_learner
def test_rows_are_embedded_by_blocks(name, monkeypatch, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    whole = fresh(name).fit(X, Y).transform(X)
    monkeypatch.setattr(_flat_learner, "BLOCK_NUMBERS", 6 * 7)
    learner = fresh(name).fit(mapped, Y)
    np.testing.assert_allclose(learner.transform(mapped), whole, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(learner.transform(sparse.csr_array(X)), whole, rtol=1e-5, atol=1e-5)


@every_learner
def test_the_same_seed_gives_the_same_bytes(name):
    found = [fresh(name).fit(X, Y).transform(X).tobytes() for _ in range(2)]
    assert found[0] == found[1]


@every_that_learns
def test_components_are_at_most_the_number_of_features(name):
    for n_components, wanted in ((1, 1), (6, 6), (16, 6), (None, 6)):
        learner = fresh(name, n_components=n_components).fit(X, Y)
        assert learner.n_components_ == wanted
        assert learner.transform(X).shape == (60, wanted)
        assert len(learner.get_feature_names_out()) == wanted


@pytest.mark.parametrize("name", ["lmnn", "itml"])
def test_fewer_components_are_the_leading_ones(name):
    whole, part = (fresh(name, n_components=n).fit(X, Y).transform(X) for n in (None, 2))
    np.testing.assert_array_equal(part, whole[:, :2])
    assert (np.diff(whole.var(axis=0)) < 0).any()


@every_learner
def test_learners_stand_in_pipelines(name):
    steps = make_pipeline(StandardScaler(), fresh(name), KNeighborsClassifier(3)).fit(X, Y)
    assert steps.score(X, Y) > 0.8


@every_learner
def test_the_time_is_told(name):
    learner = fresh(name).fit(X, Y)
    assert set(learner.timing_) == {"training"}
    assert learner.timing_["training"] >= 0
    assert learner.n_features_in_ == 6


@parametrize_with_checks(
    [
        RawFeatures(),
        NCALearner(2, random_state=0),
        LMNNLearner(2, k=1, tol=0.1),
        ITMLLearner(2, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore:.*have equal features:twofold.RelationWarning")
def test_the_learners_keep_scikit_learns_contract(estimator, check):
    check(estimator)


# ---- parts ----


def test_a_metric_is_factorised_into_its_leading_components():
    metric = np.diag([1.0, 9.0, 4.0])
    np.testing.assert_allclose(factorise(metric, 2), [[0, 3, 0], [0, 0, 2]])
    root = factorise(metric, 3)
    np.testing.assert_allclose(root.T @ root, metric)


def test_a_linear_embedder_maps_what_differs_from_the_mean():
    embedder = linear_embedder(np.array([[1.0, 2.0]]), np.array([3.0, 1.0]))
    np.testing.assert_allclose(embedder.predict(np.array([[3.0, 1.0], [4.0, 2.0]])), [[0], [3]])


# ---- refusals ----


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_what_is_not_one_class_an_item_is_refused(name):
    kind = type(LEARNERS[name]).__name__
    sentence = f"{kind} learns from one class per item"
    with pytest.raises(TypeError, match=f"{sentence}; for pairs use ITMLLearner"):
        fresh(name).fit(X, relation=PairRelation([0, 1], [1, 2], [1, 0], 60))
    with pytest.raises(TypeError, match=f"{sentence}; for triplets use TripletLearner"):
        fresh(name).fit(X, relation=TripletRelation([0], [1], [2], 60))
    labels = np.eye(3, dtype=int)[Y]
    labels[7] = 1 - labels[7]
    with pytest.raises(ValueError, match=f"{sentence}, but row 7 has 2 labels; use ITMLLearner"):
        fresh(name).fit(X, labels)


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_an_item_without_a_label_is_refused_where_classes_are_needed(name):
    labels = np.eye(3, dtype=int)[Y]
    labels[5] = 0
    with (
        pytest.warns(UserWarning, match="1 of 60 rows have no label"),
        pytest.raises(ValueError, match="but row 5 has no label; use ITMLLearner"),
    ):
        fresh(name).fit(X, labels)


@every_learner
def test_wrong_features_are_refused(name):
    wrong = X.copy()
    wrong[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        fresh(name).fit(wrong, Y)
    with pytest.raises(TypeError, match="takes arrays and sparse matrices; a torch Dataset needs"):
        fresh(name).fit(TensorDataset(torch.from_numpy(X)), Y)
    with pytest.raises(NotFittedError):
        fresh(name).transform(X)
    with pytest.raises(ValueError, match=r"X has 24 features, but .* expecting 6 features"):
        fresh(name).fit(X, Y).transform(IMAGES)


@every_that_learns
def test_wrong_labels_are_refused(name):
    kind = type(LEARNERS[name]).__name__
    with pytest.raises(ValueError, match=f"{kind} requires y"):
        fresh(name).fit(X)
    with pytest.raises(ValueError, match="about 41 items, but X has 60 rows"):
        fresh(name).fit(X, relation=PairRelation([0, 1], [1, 2], [1, 0], 41))
    with pytest.raises(ValueError, match="no dissimilar pair"):
        fresh(name).fit(X, np.zeros(60))


@every_that_learns
def test_a_wrong_number_of_components_is_refused(name):
    with pytest.raises(ValueError, match="n_components must be at least 1, got 0"):
        fresh(name, n_components=0).fit(X, Y)
    with pytest.raises(TypeError, match=r"n_components must be an integer, got 2\.5"):
        fresh(name, n_components=2.5).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"init": "best"}, "init must be one of 'auto', .*, got 'best'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": -1.0}, "tol must be finite and at least 0"),
        ({"random_state": -1}, "random_state must be a non-negative integer"),
    ],
)
def test_wrong_parameters_of_nca_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        NCALearner(**parameters).fit(X, Y)


def test_standardise_is_a_yes_or_a_no():
    with pytest.raises(TypeError, match="standardise must be True or False, got 'yes'"):
        RawFeatures(standardise="yes").fit(X)
