"""Decisions on pairs of records, on tables made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from little_tables import two_tables
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from twofold.matching import PairClassifier, _boosting

LEFT, RIGHT, PAIRS, ALIKE = two_tables()


@pytest.fixture(scope="module")
def fitted() -> PairClassifier:
    return PairClassifier(LEFT, RIGHT, random_state=0).fit(PAIRS, ALIKE)


def _f1(model: PairClassifier, pairs: np.ndarray, y: np.ndarray, **tables: object) -> float:
    called = model.predict(pairs, **tables)
    return 2 * (called * y).sum() / (called.sum() + y.sum())


def test_alike_pairs_have_the_higher_probability(fitted: PairClassifier) -> None:
    probability = fitted.predict_proba(PAIRS)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert probability[ALIKE == 1, 1].mean() > 0.8 > 0.2 > probability[ALIKE == 0, 1].mean()
    np.testing.assert_array_equal(fitted.predict(PAIRS), probability[:, 1] >= fitted.threshold_)


def test_pairs_of_tables_never_seen_are_decided(fitted: PairClassifier) -> None:
    left, right, pairs, alike = two_tables(seed=1)
    assert _f1(fitted, pairs, alike, records=left, right_records=right) > 0.9


def test_held_out_probabilities_part_the_kinds(fitted: PairClassifier) -> None:
    held_out = fitted.held_out_
    assert held_out.shape == ALIKE.shape
    assert held_out[ALIKE == 1].mean() > 0.6 > 0.2 > held_out[ALIKE == 0].mean()


@pytest.mark.parametrize("model", ["boosted", "logistic"])
def test_what_columns_add_is_the_log_odds(model: str) -> None:
    fitted = PairClassifier(LEFT, RIGHT, model=model, n_folds=2, random_state=0).fit(PAIRS, ALIKE)
    told = fitted.explain(PAIRS)
    assert list(told) == ["title", "price", "*", "base"]
    np.testing.assert_allclose(sum(told.values()), fitted.decision_function(PAIRS))


def test_a_column_that_decides_is_told_so() -> None:
    noise = {"title": ["same words"] * 40, "code": [f"x{i}" for i in range(40)]}
    told = PairClassifier(noise, noise, model="logistic").fit(PAIRS, ALIKE).explain(PAIRS[:1])
    assert told["code"][0] > 0
    assert told["title"][0] == pytest.approx(0)


def test_any_kind_of_table_is_the_same_table() -> None:
    pandas = pytest.importorskip("pandas")
    model = PairClassifier(LEFT, RIGHT, n_folds=2, random_state=0).fit(PAIRS, ALIKE)
    expected = model.predict_proba(PAIRS)
    for kind in (pa.table, pandas.DataFrame):
        model = PairClassifier(kind(LEFT), kind(RIGHT), n_folds=2, random_state=0).fit(PAIRS, ALIKE)
        np.testing.assert_array_equal(model.predict_proba(PAIRS), expected)


def test_the_order_in_a_pair_of_one_table_does_not_matter() -> None:
    table = {name: [*LEFT[name], *RIGHT[name]] for name in LEFT}
    pairs = PAIRS + np.array([0, 40])
    model = PairClassifier(table, n_folds=2, random_state=0).fit(pairs, ALIKE)
    one, other = (model.similarities(some)[0] for some in (pairs, pairs[:, ::-1]))
    np.testing.assert_array_equal(one, other)
    assert _f1(model, pairs[:, ::-1], ALIKE) > 0.9


def test_rows_that_say_the_same_are_one_record(fitted: PairClassifier) -> None:
    repeated = {name: [LEFT[name][i] for i in PAIRS[:, 0]] for name in LEFT}
    other = {name: [RIGHT[name][j] for j in PAIRS[:, 1]] for name in RIGHT}
    rows = np.column_stack([np.arange(len(PAIRS))] * 2)
    model = PairClassifier(repeated, other, n_folds=2, random_state=0).fit(rows, ALIKE)
    assert _f1(model, rows, ALIKE) > 0.9
    used = np.unique(PAIRS[:, 0])
    assert len(used) == len(set(model._fitted_tables.left_record.tolist()))


def test_the_contract_of_scikit_learn_holds() -> None:
    model = PairClassifier(LEFT, RIGHT, model="logistic", random_state=0)
    assert clone(model).get_params()["records"] == LEFT
    assert cross_val_score(model, PAIRS, ALIKE, cv=3, scoring="f1").mean() > 0.8


def test_a_classifier_of_one_s_own_is_taken() -> None:
    model = PairClassifier(LEFT, RIGHT, model=LogisticRegression(max_iter=5000), random_state=0)
    assert _f1(model.fit(PAIRS, ALIKE), PAIRS, ALIKE) > 0.9
    with pytest.raises(TypeError, match="LogisticRegression cannot be explained by its columns"):
        model.explain(PAIRS)
    with pytest.raises(TypeError, match="cannot be saved without pickle"):
        model.save(".")


def test_similarities_that_are_given_are_used_and_wanted_again() -> None:
    flat = {"title": ["a"] * 40}
    noisy = ALIKE + np.random.default_rng(0).normal(scale=0.1, size=len(ALIKE))
    model = PairClassifier(flat, flat, random_state=0).fit(PAIRS, ALIKE, noisy)
    assert model.predict(PAIRS, similarity=noisy)[ALIKE == 1].mean() > 0.9
    assert "similarity" in model.explain(PAIRS, similarity=noisy)
    with pytest.raises(ValueError, match=r"has 0 column.* fitted with 1"):
        model.predict(PAIRS)


def test_what_is_learnt_from_pairs_is_given_by_folds_that_keep_items_apart() -> None:
    calls: list[tuple[np.ndarray, np.ndarray]] = []

    def similarity(kept: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        calls.append((kept, held_out))
        return ALIKE[held_out] + 0.1 * len(calls)

    tells_nothing = np.random.default_rng(0).permutation(80).reshape(2, 40)
    left, right = ({"title": [f"a{number}" for number in side]} for side in tells_nothing)
    model = PairClassifier(left, right, n_folds=3, random_state=0).fit(PAIRS, ALIKE, similarity)
    assert sorted(np.concatenate([held_out for _, held_out in calls])) == list(range(len(PAIRS)))
    for kept, held_out in calls:
        alike = held_out[ALIKE[held_out] == 1]
        for side in (0, 1):
            assert not set(PAIRS[kept, side]) & set(PAIRS[alike, side])
            assert not set(PAIRS[kept, 0]) & set(PAIRS[held_out, 0])
    assert model.n_given_ == 1
    assert model.columns_score_ is not None
    assert model.columns_score_ < 0.9
    assert model.predict(PAIRS, similarity=ALIKE.astype(float)).tolist() == ALIKE.tolist()


def test_where_columns_alone_tell_the_alike_nothing_more_is_asked() -> None:
    same = {"title": [f"title number {row}" for row in range(40)]}

    def asked(*_: np.ndarray) -> None:
        pytest.fail("asked")

    model = PairClassifier(same, same, random_state=0).fit(PAIRS, ALIKE, asked)
    assert model.columns_score_ == 1
    assert model.n_given_ == 0
    assert model.predict(PAIRS).tolist() == ALIKE.tolist()
    alone = PairClassifier(same, same, random_state=0).fit(PAIRS, ALIKE)
    np.testing.assert_array_equal(model.held_out_, alone.held_out_)
    assert alone.columns_score_ is None


def test_with_too_few_pairs_for_folds_nothing_is_asked_of_what_learns_from_them() -> None:
    few = [0, 1, 50, 51]
    model = PairClassifier(LEFT, RIGHT).fit(PAIRS[few], ALIKE[few], lambda *_: pytest.fail("asked"))
    assert model.n_given_ == 0
    assert model.predict(PAIRS).shape == ALIKE.shape


def test_a_threshold_is_set_on_other_pairs(fitted: PairClassifier) -> None:
    model = clone(fitted).set_params(n_folds=2).fit(PAIRS, ALIKE)
    model.calibrate_threshold(PAIRS, ALIKE, "max_tnr", min_rate=1.0)
    assert model.predict(PAIRS)[ALIKE == 1].all()


def test_without_lightgbm_scikit_learn_boosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_boosting, "has_lightgbm", lambda: False)
    empty = {"colour": pa.nulls(40, pa.string())}
    model = PairClassifier(LEFT | empty, RIGHT | empty, model="boosted", n_folds=2, random_state=0)
    model.fit(PAIRS, ALIKE)
    assert np.isnan(model.similarities(PAIRS)[0]).all(axis=0).any()  # a column without values
    assert _f1(model, PAIRS, ALIKE) > 0.9


def test_few_pairs_get_a_logistic_model_and_the_plain_threshold() -> None:
    model = PairClassifier(LEFT, RIGHT).fit(PAIRS[[0, 1, 50, 51]], ALIKE[[0, 1, 50, 51]])
    assert (model.model_, model.threshold_) == ("logistic", 0.5)
    assert np.isnan(model.held_out_).all()


@pytest.mark.parametrize("kind", ["boosted", "logistic"])
def test_an_opened_model_says_the_same(kind: str, tmp_path: Path) -> None:
    model = PairClassifier(LEFT, RIGHT, model=kind, n_folds=2, random_state=0).fit(PAIRS, ALIKE)
    description = json.loads(json.dumps(model.save(tmp_path)))
    opened = PairClassifier.open(description, tmp_path)
    tables = {"records": LEFT, "right_records": RIGHT}
    np.testing.assert_allclose(opened.predict_proba(PAIRS, **tables), model.predict_proba(PAIRS))
    np.testing.assert_array_equal(opened.predict(PAIRS, **tables), model.predict(PAIRS))
    assert opened.similarities(PAIRS, **tables)[1] == model.similarities(PAIRS)[1]
    with pytest.raises(ValueError, match="records is missing: give the table"):
        opened.predict(PAIRS)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 99}, "has format 99, but this version reads 1"),
        ({"model": "svm"}, "no such model: 'svm'"),
        ({"threshold": float("nan")}, "threshold is not finite"),
        ({"n_given": -1}, "n_given is -1"),
        ({"n_records": 0}, "in more records than there are"),
        ({"columns": []}, "unknown kind or twice"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(
    change: dict, why: str, fitted: PairClassifier, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=why):
        PairClassifier.open(fitted.save(tmp_path) | change, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("left", 0, "leads to one that does not follow it"),
        ("right", 2**30, "leads to one that does not follow it"),
        ("feature", 10_000, "uses a feature that does not exist"),
        ("roots", -5, "starts at a node that does not exist"),
        ("value", np.nan, "not finite"),
    ],
)
def test_trees_that_cannot_be_followed_are_refused(
    name: str, value: float, why: str, fitted: PairClassifier, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    description = fitted.save(tmp_path)
    place = tmp_path / description["file"]
    arrays = load_file(place)
    arrays[f"model.{name}"][0] = value
    save_file(arrays, place)
    with pytest.raises(ValueError, match=why):
        PairClassifier.open(description, tmp_path)


@pytest.mark.parametrize(
    ("pairs", "y", "why"),
    [
        ([[0, 1], [1, 1]], [0, 2], "neither 0 .* first at row 1: .*2"),
        ([[0, 1]], [0, 1], "one label for each of 1"),
        ([[0, 1], [1, 0]], [0, 0], "All 2 pair.* the same kind"),
        ([[0, 99], [1, 1]], [0, 1], "outside 0 .. 39, first at row 0 .item 99"),
        ([0, 1], [0, 1], "shape"),
    ],
)
def test_statements_that_cannot_be_meant_are_named(pairs: list, y: list, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        PairClassifier(LEFT, RIGHT).fit(pairs, y)


@pytest.mark.parametrize(
    ("tables", "options", "error", "why"),
    [
        ((), {}, ValueError, "records is missing: give the table"),
        (([1, 2],), {}, ValueError, "must be a pyarrow.Table, .* got list"),
        (({"a": [1], "b": [1, 2]},), {}, ValueError, "the same length: .a. has 1 .* .b. has 2"),
        (({"a": [[1]]},), {}, TypeError, "Column 'a' holds .* cannot be compared"),
        (({"a": ["x"]}, {"b": ["x"]}), {}, ValueError, "no column in common .a and b"),
        (
            (LEFT, RIGHT),
            {"kinds": {"prize": "number"}},
            ValueError,
            "'prize', which is not a column",
        ),
        ((LEFT, RIGHT), {"kinds": {"price": "money"}}, ValueError, "one of 'text', .* got 'money'"),
        ((LEFT, RIGHT), {"model": "forest"}, ValueError, "one of 'auto', .* got 'forest'"),
        ((LEFT, RIGHT), {"model": 3}, TypeError, "a classifier with fit and predict_proba, got 3"),
        ((LEFT, RIGHT), {"n_folds": 1}, ValueError, "n_folds must be at least 2"),
    ],
)
def test_tables_and_parameters_that_cannot_be_meant_are_named(
    tables: tuple, options: dict, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        PairClassifier(*tables, **options).fit(PAIRS, ALIKE)


def test_a_table_without_a_column_of_the_fitted_ones_is_named(fitted: PairClassifier) -> None:
    with pytest.raises(ValueError, match="has no column 'price'"):
        fitted.predict(PAIRS, records={"title": LEFT["title"]}, right_records=RIGHT)
