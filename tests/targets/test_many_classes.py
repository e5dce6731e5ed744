"""A learner on more classes than components."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from twofold import MetricLearner, load
from twofold.evaluation import all_pairs_auroc
from twofold.regression import Network
from twofold.targets import TargetRows, _solution

N_CLASSES, N_EACH, DIM = 60, 8, 20


def some_items():
    """Return items about a centre a class, twice, and their classes."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(N_CLASSES), N_EACH)
    centres = rng.standard_normal((N_CLASSES, 10))
    X, fresh = (
        (centres[y] + 0.3 * rng.standard_normal((len(y), 10))).astype(np.float32) for _ in range(2)
    )
    return X, fresh, y


def learner(**parameters) -> MetricLearner:
    quick = {"embedder": Network(max_epochs=10), "random_state": 0, "device": "cpu"}
    return MetricLearner(DIM, **{**quick, **parameters})


@pytest.fixture(scope="module")
def fitted() -> MetricLearner:
    X, _, y = some_items()
    return learner().fit(X, y)


def test_new_items_lie_near_others_of_their_class(fitted):
    _, fresh, y = some_items()
    assert all_pairs_auroc(fitted.transform(fresh), y, metric="dot") > 0.95


def test_every_class_has_a_target_and_unknown_items_none():
    X, _, y = some_items()
    unknown = np.arange(0, len(y), 11)
    y[unknown] = -1
    targets = learner(embedder=Ridge()).fit(X, y).targets_
    assert targets.shape == (len(y), DIM)
    assert np.isnan(targets[unknown]).all()
    known = targets[y >= 0]
    np.testing.assert_allclose(np.linalg.norm(known, axis=1), 1, rtol=1e-5)
    assert len(np.unique(known, axis=0)) == N_CLASSES


def test_the_embedding_is_as_long_as_the_targets(fitted):
    lengths = np.linalg.norm(fitted.transform(some_items()[1]), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=0.25)  # the targets' mean is not quite zero


def test_targets_are_standardised_over_items_and_not_over_classes():
    X, _, y = some_items()
    y[y > 50] = 0  # one class of many items
    fitted = learner(embedder=Network(max_epochs=1)).fit(X, y)
    scale = fitted.embedder_.output_scale
    np.testing.assert_allclose(scale.mean, fitted.targets_.mean(axis=0), atol=1e-5)
    assert scale.scale == pytest.approx(fitted.targets_.std(axis=0).mean(), rel=1e-4)


@pytest.mark.filterwarnings("ignore:Squared error does not learn 60 classes")
@pytest.mark.parametrize("embedder", [Ridge(), Network(max_epochs=2, loss="squared")])
def test_squared_error_takes_the_table_too(embedder):
    X, fresh, y = some_items()
    points = learner(embedder=embedder).fit(X, y).transform(fresh)
    assert points.shape == (len(fresh), DIM)
    assert np.isfinite(points).all()


def test_a_learner_comes_back_from_disk(tmp_path, fitted):
    _, fresh, _ = some_items()
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.transform(fresh), fitted.transform(fresh), atol=1e-5)


def test_targets_of_very_many_items_read_as_an_array(monkeypatch):
    X, _, y = some_items()
    y[3] = -1
    quick = learner(embedder=Ridge())
    targets = quick.fit(X, y).targets_
    assert isinstance(targets, np.ndarray)
    monkeypatch.setattr(_solution, "MOST_GATHERED", 100)
    rows = quick.fit(X, y).targets_
    assert isinstance(rows, TargetRows)
    assert (rows.shape, rows.dtype, len(rows)) == (targets.shape, targets.dtype, len(targets))
    np.testing.assert_array_equal(np.asarray(rows), targets)
    for items in (3, 5, slice(2, 9), [1, 3, 8], y == 7, (slice(None), 0), (4, 2), (3, 2)):
        np.testing.assert_array_equal(rows[items], targets[items])
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(rows, copy=False)
