"""Models of similarities: trees as arrays, linear scores, calibration, folds."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.matching import _boosting
from twofold.matching._boosting import BoostingSettings, fit_boosted
from twofold.matching._decision import fit_sigmoid, probability
from twofold.matching._forest import LARGEST
from twofold.matching._item_apart import item_folds, out_of_fold
from twofold.matching._linear import fit_logistic

FEW = BoostingSettings(n_trees=5, n_least=3, n_forests=2)


def _problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(np.int64)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_a_forest_says_what_lightgbm_says() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = _problem()
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), 8)
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    forest = _boosting._forest([_boosting._lightgbm_nodes(tree) for tree in trees], 0.0)
    np.testing.assert_allclose(forest.score(X), booster.predict(X, raw_score=True))


def test_a_forest_says_what_scikit_learn_says() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = _problem()
    settings = BoostingSettings(n_trees=6, n_least=3, n_forests=1)
    forest = _boosting._scikit_learn_fits(X, y, settings)(7)
    model = HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=settings.n_leaves, min_samples_leaf=3, early_stopping=False,
        l2_regularization=settings.ridge, max_features=settings.feature_share, random_state=7,
        learning_rate=settings.learning_rate,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(forest.score(X), model.decision_function(X))


@pytest.mark.parametrize("with_lightgbm", [True, False])
def test_contributions_add_up_to_the_score(
    with_lightgbm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_lightgbm:
        pytest.importorskip("lightgbm")
    monkeypatch.setattr(_boosting, "has_lightgbm", lambda: with_lightgbm)
    X, y = _problem()
    forest = fit_boosted(X, y, FEW, np.random.default_rng(0))
    added = forest.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1), forest.score(X))
    assert np.abs(added[:, 0]).mean() > np.abs(added[:, 2]).mean()  # the feature that matters
    assert len(np.unique(added[:, -1])) == 1


def test_the_same_generator_fits_the_same_forest() -> None:
    X, y = _problem()
    one, other = (fit_boosted(X, y, FEW, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.score(X), other.score(X))


@pytest.mark.parametrize("with_lightgbm", [True, False])
def test_forests_side_by_side_are_those_one_after_another(
    with_lightgbm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_lightgbm:
        pytest.importorskip("lightgbm")
    monkeypatch.setattr(_boosting, "has_lightgbm", lambda: with_lightgbm)
    X, y = _problem()
    scores = []
    for n_threads in (1, 3):
        monkeypatch.setattr(_boosting, "allowed_threads", lambda n=n_threads: n)
        settings = BoostingSettings(n_trees=20, n_least=3, n_forests=3)
        scores.append(fit_boosted(X, y, settings, np.random.default_rng(3)).score(X))
    np.testing.assert_array_equal(*scores)


def test_above_leaves_stands_the_mean_of_the_training_rows_below() -> None:
    leaf = _boosting.LEAF
    tree = [
        (0, 0.5, False, 1, 2, 0.0, 8.0),
        (leaf, 0.0, False, leaf, leaf, -1.0, 2.0),
        (1, 0.1, False, 3, 4, 0.0, 6.0),
        (leaf, 0.0, False, leaf, leaf, 1.0, 5.0),
        (leaf, 0.0, False, leaf, leaf, 4.0, 1.0),
    ]
    forest = _boosting._forest([tree, tree], 0.25)
    assert forest.roots.tolist() == [0, 5]
    assert forest.value[[0, 2, 5, 7]].tolist() == [(-2 + 9) / 8, 9 / 6, (-2 + 9) / 8, 9 / 6]
    rows = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.float32)
    assert forest.score(rows).tolist() == [0.25 - 2, 0.25 + 2, 0.25 + 8]


def test_a_linear_score_is_its_contributions_and_the_missing_add_nothing() -> None:
    X, y = _problem()
    model = fit_logistic(X, y)
    added = model.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1), model.score(X))
    assert (added[:, :4][np.isnan(X)] == 0).all()
    assert model.weight[0] > 0


def test_calibrated_scores_are_probabilities() -> None:
    rng = np.random.default_rng(0)
    true_log_odds = rng.normal(scale=2, size=20_000)
    y = (rng.random(20_000) < probability(true_log_odds)).astype(np.int64)
    sigmoid = fit_sigmoid(3 * true_log_odds + 1, y)
    assert sigmoid.slope == pytest.approx(1 / 3, rel=0.1)
    assert sigmoid.offset == pytest.approx(-1 / 3, abs=0.1)


def test_kinds_that_are_parted_wholly_leave_the_slope_finite() -> None:
    sigmoid = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    assert 0 < sigmoid.slope < 10


@pytest.mark.parametrize("one_table", [True, False])
def test_folds_keep_items_of_alike_pairs_apart(one_table: bool) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(30, size=(200, 2))
    y = (pairs[:, 0] % 10 == pairs[:, 1] % 10).astype(np.int64)
    scored = np.zeros(200, dtype=int)
    for kept, held_out in item_folds(pairs, y, 4, rng, one_table=one_table):
        scored[held_out] += 1
        assert not set(pairs[held_out, 0]) & set(pairs[kept, 0])
        assert not set(pairs[held_out[y[held_out] == 1], 1]) & set(pairs[kept, 1])
        if one_table:
            assert not set(pairs[held_out, 0]) & set(pairs[kept, 1])
    assert (scored == 1).all()


def test_a_fold_with_one_kind_to_fit_to_is_not_scored() -> None:
    y = np.array([0, 0, 1])
    folds = iter([(np.array([0]), np.array([1])), (np.array([0, 2]), np.array([1]))])
    scores = out_of_fold(lambda kept, held_out: np.ones(len(held_out)), folds, y)
    np.testing.assert_array_equal(scores, [np.nan, 1, np.nan])


def test_a_threshold_that_parts_only_the_missing_is_within_what_files_may_hold() -> None:
    nodes = [
        (0, np.inf, False, 1, 2, 0.0, 2.0),
        *[(-1, 0.0, False, -1, -1, v, 1.0) for v in (1, 2)],
    ]
    forest = _boosting._forest([nodes], 0.0)
    assert forest.threshold.max() == LARGEST
    rows = np.array([[np.nan], [LARGEST], [0.0]], dtype=np.float32)
    np.testing.assert_array_equal(forest.score(rows), [2, 1, 1])
