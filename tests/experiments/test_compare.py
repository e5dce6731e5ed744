"""Arrays and methods of one's own: records as a reproduction makes them, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from twofold import MetricLearner, Network
from twofold.experiments import _reproduce as reproduce_module
from twofold.experiments import compare, read_records
from twofold.experiments._own_learner import plain_value
from twofold.experiments._records import validate_record


class Scaled:
    """The smallest learner there is: two methods, and no base class."""

    def __init__(self, power: float = 1.0) -> None:
        self.power = power
        self.random_state = None

    def fit(self, X, y):
        self.scale_ = X.std(axis=0) ** self.power
        self.seed_ = self.random_state
        return self

    def transform(self, X):
        return X / self.scale_


def blobs(n_items: int, seed: int):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_items)
    X = rng.normal(size=(n_items, 6)) + 3 * np.eye(3, 6)[classes]
    return X.astype(np.float32), np.array(["cat", "dog", "emu"])[classes]


ARRAYS = (*blobs(120, 0), *blobs(60, 1))


def run(*arrays, **options):
    fast = {"methods": [Scaled()], "seeds": 1, "device": "cpu", "epochs": 2}
    return compare(*(arrays or ARRAYS), **fast | options)


def test_ours_and_one_s_own_give_records_of_one_format(tmp_path):
    own = {"twofold": "twofold", "mine": Scaled(), "pca": make_pipeline(StandardScaler(), PCA(2))}
    records = run(methods=own, seeds=2, name="blobs", out=tmp_path)
    assert [(one.method, one.seed) for one in records] == [
        (name, seed) for seed in (0, 1) for name in ("twofold", "mine", "pca")
    ]
    for one in records:
        validate_record(one.to_json(), one.method)
        assert one.scores.auroc > 0.8
        assert one.data["n_train"] == 108
    assert len(records[0].curve) == 2
    assert [point.epoch for point in records[1].curve] == [0]
    stored = {(one.method, one.seed): one for one in read_records(tmp_path / "blobs")}
    assert stored == {(one.method, one.seed): one for one in records}


def test_a_run_that_is_there_is_not_made_again(tmp_path, monkeypatch):
    first = run(out=tmp_path)
    monkeypatch.setattr(reproduce_module, "run_method", lambda *_: pytest.fail("it was run again"))
    assert run(out=tmp_path) == first


@pytest.mark.parametrize("change", ["arrays", "parameters"])
def test_a_run_of_other_arrays_or_parameters_is_not_taken_for_this_one(tmp_path, change):
    run(out=tmp_path)
    X, *rest = ARRAYS
    other = X.copy()
    other[-1, -1] += 1
    changed = (other, *rest) if change == "arrays" else ARRAYS
    method = Scaled() if change == "arrays" else Scaled(0.5)
    with pytest.raises(ValueError, match="other settings, or on another device"):
        run(*changed, methods=[method], out=tmp_path)


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run()[0].scores.auroc > 0.75
    assert not list(tmp_path.iterdir())


def test_every_seed_is_given_to_a_learner_that_has_a_place_for_it_and_the_original_is_left_alone():
    seeds = []

    class Told(Scaled):
        def fit(self, X, y):
            seeds.append(self.random_state)
            return super().fit(X, y)

    original = Told()
    run(methods=[original], seeds=(4, 7))
    assert seeds == [4, 7]
    assert original.random_state is None
    assert not hasattr(original, "scale_")


def test_a_network_of_one_s_own_is_followed_and_ends_in_its_own_embedding(monkeypatch):
    monkeypatch.setattr(MetricLearner, "transform", lambda self, X: np.zeros((len(X), 2), "f4"))
    (record,) = run(methods=[MetricLearner(embedder=Network("mlp", max_epochs=3))])
    assert [point.epoch for point in record.curve] == [1, 2, 3]
    assert record.curve[1].auroc > 0.8
    assert record.scores.auroc == record.curve[2].auroc == 0.5
    assert record.configuration["parameters"]["embedder__max_epochs"] == 3


def test_the_metric_that_a_learner_names_compares_its_points():
    class Angles(Scaled):
        metric_ = "cosine"

        def transform(self, X):
            return X * np.geomspace(1, 1e3, len(X))[:, None]  # lengths say nothing

    by_angle, by_distance = run(
        methods={"a": Angles(), "b": type("B", (Angles,), {"metric_": "euclidean"})()}
    )
    assert by_angle.scores.auroc > by_distance.scores.auroc + 0.1


def test_several_labels_and_sparse_features_are_taken():
    rng = np.random.default_rng(0)
    labels = (rng.random((150, 4)) < 0.4).astype(int)
    X = sparse.csr_array(labels @ rng.normal(size=(4, 8)))
    (record,) = run(X[:100], labels[:100], X[100:], sparse.csr_array(labels[100:]), methods="raw")
    assert record.score == "jaccard"
    assert record.scores.neighbours > 0.8


def test_images_of_one_s_own_have_a_gallery_and_rows_of_64_numbers_have_none(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (120, 1, 8, 8), dtype=np.uint8)
    y = np.arange(120) % 2
    run(images[:80], y[:80], images[80:], y[80:], methods="raw", name="pictures", out=tmp_path)
    rows = images.reshape(120, 64)
    run(rows[:80], y[:80], rows[80:], y[80:], methods="raw", name="rows", out=tmp_path)
    assert [place.parent.name for place in tmp_path.rglob("*.gallery.json")] == ["pictures"]


X, Y, X_TEST, Y_TEST = ARRAYS


@pytest.mark.parametrize(
    ("arrays", "options", "sentence"),
    [
        ((X, Y[:-1], X_TEST, Y_TEST), {}, "X_train has 120 rows and y_train has 119"),
        ((X, Y, X_TEST[:, :5], Y_TEST), {}, r"shape \(6,\) and those of X_test \(5,\)"),
        ((X[:9], Y[:9], X_TEST, Y_TEST), {}, "X_train has 9 rows: give at least 20"),
        ((Y[:, None], Y, X_TEST, Y_TEST), {}, "X_train must contain numbers"),
        ((X, np.full(120, -1), X_TEST, np.zeros(60, int)), {}, "120 item.s. of y_train have no"),
        ((X, np.eye(3)[[0] * 120], X_TEST, Y_TEST), {}, r"y_train has the shape \(120, 3\)"),
        (ARRAYS, {"methods": []}, "give at least one method"),
        (ARRAYS, {"seeds": ()}, "give at least one seed"),
        (ARRAYS, {"seeds": 0}, "seeds must be at least 1"),
        (ARRAYS, {"methods": ["magic"]}, "There is no method 'magic'"),
        (ARRAYS, {"methods": {"twofold": Scaled()}}, "'twofold' is a built-in method"),
        (ARRAYS, {"methods": [Scaled(), Scaled(2)]}, "Two methods are called 'Scaled'"),
        (ARRAYS, {"methods": {"../mine": Scaled()}}, "cannot be part of a file name"),
        (ARRAYS, {"name": "mnist"}, "is a data set of `twofold reproduce`"),
        (ARRAYS, {"name": "a/b"}, "cannot be part of a file name"),
        (ARRAYS, {"network": "resnet"}, "network must be one of"),
    ],
)
def test_what_cannot_be_run_is_said_first(arrays, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(*arrays, **options)


@pytest.mark.parametrize("method", [Scaled, 3, object()])
def test_what_is_no_learner_is_refused(method):
    with pytest.raises(TypeError, match="or a learner with fit and transform, got"):
        run(methods=[method])


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (
            lambda X: X[:-1],
            r"must return one point per item, shape \(60, n_components\), got \(59, 6",
        ),
        (lambda X: X[:, 0], r"got \(60,\)"),
        (lambda X: X * np.where(np.arange(len(X)) == 5, np.nan, 1)[:, None], "first row 5"),
    ],
)
def test_points_that_are_none_are_said(points, sentence):
    learner = type("Wrong", (Scaled,), {"transform": lambda self, X: points(X)})()
    with pytest.raises(ValueError, match=f"transform of Wrong .*{sentence}"):
        run(methods=[learner])


def test_parameters_are_plain_and_the_same_in_another_process():
    values = {"a": (1, 2.5), "b": np.float64("nan"), "c": np.arange(3), "d": np.mean, "e": PCA(2)}
    plain = plain_value(values)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["a"] == [1, 2.5]
    assert plain["d"] == "numpy.mean"
    assert plain["e"] == "sklearn.decomposition._pca.PCA"
    assert plain["c"] == plain_value(np.arange(3)) != plain_value(np.arange(1, 4))
