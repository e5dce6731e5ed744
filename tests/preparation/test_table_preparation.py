"""Columns told apart, each to features by its kind; saved without pickle, checked when opened."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from twofold.preparation import TablePreparation

WORDS = ["red chair", "green table", "red table", "old lamp", "new chair", "old red lamp"]


def many(n=12):
    """A table with one column of every kind."""
    return {
        "record_id": [f"r{k}" for k in range(n)],
        "title": [WORDS[k % 6] + f" model {k % 4}" for k in range(n)],
        "price": [f"${1000 + 3 * k:,}.50" if k else "" for k in range(n)],
        "weight": [0.5 * k * k for k in range(n)],
        "colour": ["red", "green", "Red", ""] * (n // 4),
        "new": [k % 2 == 0 for k in range(n)],
        "sold": [f"20{10 + k}-03-{1 + k:02}" for k in range(n)],
        "photo": [f"photos/{k}.jpg" for k in range(n)],
        "same": ["x"] * n,
        "nothing": [None] * n,
        "vector": [[float(k), 1.0, 2.0] for k in range(n)],
    }


def kinds_of(preparation):
    return {plan.name: plan.kind for plan in preparation.columns_}


def dense(features):
    return features.toarray() if sparse.issparse(features) else features


def test_columns_are_told_apart():
    preparation = TablePreparation().fit(many())
    assert kinds_of(preparation) == {
        "record_id": "id",
        "title": "text",
        "price": "number",
        "weight": "number",
        "colour": "category",
        "new": "category",
        "sold": "date",
        "photo": "image",
        "same": "dropped",
        "nothing": "dropped",
        "vector": "vector",
    }
    plans = {plan.name: plan for plan in preparation.columns_}
    assert (plans["price"].n_missing, plans["colour"].n_missing) == (1, 3)
    assert plans["same"].note == "the same value in every row"
    assert plans["nothing"].note == "no row has a value"
    assert sum(plan.n_features for plan in preparation.columns_) == preparation.n_features_out_


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["$1,299.00", "12 EUR", "1.299,50 €", "n/a"], "number"),
        (["1", "2", "three", "4"], "text"),
        (["01.02.2020", "17.12.2021", "", "03.03.2019"], "date"),
        (["x7-112", "ab-990", "x7-113", "c-11"], "text"),
        ([3, 1, 4, 1], "number"),
        ([10, 11, 12, 13], "id"),
        ([1, "a", None, 2.5], "text"),
    ],
)
def test_a_column_is_what_most_of_it_is(values, kind):
    preparation = TablePreparation().fit({"x": values, "y": [0.5, 0.1, 0.9, 2.0]})
    assert kinds_of(preparation)["x"] == kind


def test_odd_values_in_a_column_of_numbers_are_missing_and_said():
    values = [str(k) for k in range(40)] + ["unknown"]
    (plan,) = TablePreparation().fit({"x": values}).columns_
    assert (plan.kind, plan.n_missing) == ("number", 1)
    assert "1 value(s) are not numbers and count as missing, first 'unknown'" in plan.note


def test_infinite_numbers_are_missing_and_said_with_the_first_place():
    values = np.array([1.0, 2.0, np.nan, -np.inf, 4.0, np.inf, 1e31])
    preparation = TablePreparation().fit({"x": values, "y": np.arange(7) / 2})
    odd, plain = preparation.columns_
    assert (odd.kind, odd.n_missing) == ("number", 4)
    assert odd.note == (
        "3 value(s) are infinite or beyond 1e+30 and count as missing, first at row 3 (-inf)"
    )
    assert (plain.n_missing, plain.note) == (0, "")
    features = preparation.transform({"x": values, "y": np.zeros(7)})
    np.testing.assert_array_equal(features[:, 1], [0, 0, 1, 1, 0, 1, 1])


@pytest.mark.parametrize(("left", "place"), [(1.0, "row 1 of the second table"), (np.inf, "row 2")])
def test_an_infinite_number_is_found_in_the_table_that_has_it(left, place):
    first, second = {"x": [0.0, 3.0, left]}, {"x": [2.0, np.inf]}
    (plan,) = TablePreparation().fit(first, right=second).columns_
    assert f"first at {place} (inf)" in plan.note


@pytest.mark.parametrize("kinds", [None, {"x": "number"}])
def test_numbers_written_as_text_may_be_too_large_or_no_numbers(kinds):
    values = ["$1", *map(str, range(40)), "", "unknown", "1e400"]
    (plan,) = TablePreparation(kinds).fit({"x": values}).columns_
    assert plan.n_missing == 3
    assert (
        "1 value(s) are not numbers and count as missing, first 'unknown'; 1 value(s) are infin"
        in (plan.note)
    )
    assert plan.note.endswith("first at row 43 (1e400)")


def test_what_is_not_found_to_be_numbers_but_said_to_be_tells_its_odd_values():
    preparation = TablePreparation({"x": "number"}).fit({"x": ["3", "four", "five", "1"]})
    (plan,) = preparation.columns_
    assert plan.note == (
        "as was asked; 2 value(s) are not numbers and count as missing, first 'four'"
    )


def test_a_column_without_a_finite_number_is_dropped_and_says_so():
    values = [np.inf, -np.inf, np.nan, np.inf]
    plan, _ = TablePreparation().fit({"x": values, "y": [0.5, 0.1, 0.9, 2.0]}).columns_
    assert (plan.kind, plan.note) == ("dropped", "no row has a finite number")


def test_written_numbers_are_the_numbers():
    written = ["$1,299.00", "12 EUR", "1.299,50 €", "3", "-4.5e1", "7 %"]
    plain = [1299.0, 12.0, 1299.5, 3.0, -45.0, 7.0]
    preparation = TablePreparation({"x": "number"}).fit({"x": plain})
    np.testing.assert_array_equal(
        preparation.transform({"x": written}), preparation.transform({"x": plain})
    )


def test_numbers_are_scaled_by_quartiles_and_missing_ones_are_marked():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan, 1e9])
    preparation = TablePreparation().fit({"x": values})
    features = preparation.transform({"x": values})
    assert features.dtype == np.float32
    assert preparation.get_feature_names_out().tolist() == ["x", "x_missing"]
    np.testing.assert_array_equal(features[:, 1], np.isnan(values))
    assert features[5, 0] == 0
    assert np.abs(features).max() <= 10
    assert (np.diff(features[:5, 0]) > 0).all()


def test_numbers_alone_are_dense_and_text_makes_them_sparse():
    assert isinstance(TablePreparation().fit_transform(np.diag([1.0, 2, 3, 4])), np.ndarray)
    features = TablePreparation().fit_transform({"title": WORDS, "x": range(6)})
    assert isinstance(features, sparse.csr_array)
    assert features.dtype == np.float32


def test_frequent_categories_have_a_feature_each_and_others_share_one():
    values = ["a"] * 5 + ["b"] * 4 + ["c"] + [""] * 3
    preparation = TablePreparation({"x": "category"}).fit({"x": values})
    features = preparation.transform({"x": ["B", "c", "never", "", "a"]})
    assert preparation.get_feature_names_out().tolist() == ["x_=a", "x_=b", "x_other"]
    np.testing.assert_array_equal(features, [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_categories_written_as_text_or_numbers_are_the_same():
    preparation = TablePreparation({"x": "category"}).fit({"x": [1, 1, 2, 2]})
    as_numbers = preparation.transform({"x": [1.0, 2.0]})
    np.testing.assert_array_equal(preparation.transform({"x": ["1", "2.0"]}), as_numbers)
    np.testing.assert_array_equal(as_numbers, [[1, 0, 0], [0, 1, 0]])


def test_dates_close_in_the_year_are_close():
    days = [f"2020-{month:02}-01" for month in range(1, 13)]
    preparation = TablePreparation().fit({"day": days})
    names = preparation.get_feature_names_out().tolist()
    features = preparation.transform({"day": days})
    circle = features[:, [names.index("day_sin_year"), names.index("day_cos_year")]]
    distances = np.linalg.norm(circle - circle[0], axis=1)
    assert distances[11] < distances[6]
    np.testing.assert_array_equal(preparation.transform({"day": pd.to_datetime(days)}), features)


@pytest.mark.parametrize("text", ["together", "apart"])
def test_text_has_length_one_in_each_block(text):
    table = {"title": WORDS, "maker": ["acme", "acme ltd", "acme", "bell", "bell co", ""]}
    features = TablePreparation(text=text, kinds={"maker": "text"}).fit_transform(table)
    lengths = sparse.linalg.norm(features, axis=1)
    wanted = np.ones(6) if text == "together" else np.sqrt([2, 2, 2, 2, 2, 1])
    np.testing.assert_allclose(lengths, wanted, rtol=1e-5)


def test_texts_together_are_alike_across_columns():
    table = {
        "title": ["acme red chair", "red chair", "green table"] * 2,
        "maker": ["", "acme", "bell"] * 2,
    }
    kinds = {"title": "text", "maker": "text"}
    features = TablePreparation(kinds).fit_transform(table)
    similarity = (features @ features.T).toarray()
    assert similarity[0, 1] > 0.8 > similarity[0, 2]


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, dict])
def test_every_kind_of_table_gives_the_same(make):
    table = many()
    wanted = dense(TablePreparation().fit_transform(table))
    preparation = TablePreparation().fit(make(table))
    np.testing.assert_allclose(dense(preparation.transform(make(table))), wanted, rtol=1e-6)


def test_an_array_may_have_names():
    array = np.random.default_rng(0).random((5, 2))
    preparation = TablePreparation(columns=["a", "b"]).fit(array)
    assert [plan.name for plan in preparation.columns_] == ["a", "b"]
    np.testing.assert_array_equal(
        preparation.transform(array), preparation.transform({"b": array[:, 1], "a": array[:, 0]})
    )


def test_two_tables_are_fitted_together():
    left, right = {"x": ["1", "2"], "t": WORDS[:2]}, {"x": [3.0, 4.0], "t": WORDS[2:4]}
    joined = {"x": ["1", "2", "3", "4"], "t": WORDS[:4]}
    apart = TablePreparation().fit(left, right=right)
    np.testing.assert_array_equal(
        dense(apart.transform(right)), dense(TablePreparation().fit(joined).transform(right))
    )


def test_it_is_a_scikit_learn_transformer():
    preparation = TablePreparation({"x": "number"}, columns=["x"])
    assert clone(preparation).get_params() == preparation.get_params()
    with pytest.raises(NotFittedError):
        preparation.transform({"x": [1]})
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "extra": list("abc")})
    named = preparation.set_output(transform="pandas").fit_transform(frame)
    assert list(named.columns) == ["x"]


def test_names_are_as_many_as_features():
    preparation = TablePreparation().fit(many())
    names = preparation.get_feature_names_out()
    assert len(names) == preparation.n_features_out_ == preparation.transform(many()).shape[1]
    assert len(set(names)) == len(names)


def test_texts_of_which_nothing_comes_twice_are_no_features():
    table = {"a": ["xyz", "qrs"], "b": ["uvw", "klm"], "x": [1.5, 2.5]}
    preparation = TablePreparation().fit(table)
    assert preparation.transform(table).shape == (2, 1)
    assert [plan.n_features for plan in preparation.columns_] == [0, 0, 1]


# What is wrong


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"titel": WORDS, "x": range(6)},
            r"lacks 1 column\(s\) .* 'title'\. Did you mean 'titel'",
        ),
        ({"other": WORDS}, r"lacks 2 column\(s\) that are needed, first 'title'"),
    ],
)
def test_a_table_of_other_columns_is_refused(table, message):
    preparation = TablePreparation().fit({"title": WORDS, "x": [3, 1, 2, 5, 4, 4]})
    with pytest.raises(ValueError, match=message):
        preparation.transform(table)


def test_other_columns_beside_are_ignored():
    preparation = TablePreparation().fit({"x": [1.0, 2.0, 5.0]})
    assert preparation.transform({"y": [1], "x": [2]}).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("arguments", "table", "message"),
    [
        ({}, {"x": ["a", "a"], "y": [None, None]}, r"No column .*x: the same value .*; y: no row"),
        ({"kinds": {"x": "price"}}, {"x": [1, 2]}, "kinds must be one of"),
        ({"kinds": {"pirce": "number"}}, {"price": [1, 2]}, r"Did you mean 'price'\?"),
        (
            {"kinds": {"x": "number"}},
            {"x": ["a", "b"]},
            r"column 'x' is not of kind number: it holds no nu",
        ),
        ({"kinds": {"x": "date"}}, {"x": ["a", "b"]}, r"column 'x' is not of kind date"),
        ({}, {"x": []}, "has no rows"),
        ({}, {}, "has no column"),
        ({"text": "both"}, {"x": [1, 2]}, "text must be one of"),
        ({}, np.zeros(3), r"array of shape \(n, p\), got ndarray of shape \(3,\)"),
    ],
)
def test_what_cannot_be_fitted_is_said(arguments, table, message):
    with pytest.raises(ValueError, match=message):
        TablePreparation(**arguments).fit(table)


def test_a_second_table_is_not_taken_for_labels():
    with pytest.raises(TypeError, match=r"fit\(table, right=other\)"):
        TablePreparation().fit({"x": [1.0, 2.0]}, {"x": [1.0, 2.0]})


def test_a_text_model_has_to_be_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'minishlab/potion' is not: .* not downloaded"):
        TablePreparation(text_model="minishlab/potion").fit({"title": WORDS})
    with pytest.raises(ValueError, match="cannot be opened as a text model"):
        TablePreparation(text_model=tmp_path).fit({"title": WORDS})


# On disk


def test_what_was_saved_prepares_alike(tmp_path):
    preparation = TablePreparation().fit(many())
    description = json.loads(json.dumps(preparation.save(tmp_path)))
    opened = TablePreparation.open(description, tmp_path)
    wanted, features = preparation.transform(many()), opened.transform(many())
    assert (wanted != features).nnz == 0
    assert opened.columns_ == preparation.columns_
    assert opened.get_params() == preparation.get_params()
    assert opened.get_feature_names_out().tolist() == preparation.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("blocks"), "'blocks' must be list"),
        (lambda d: d.update(version=9), "has version 9, but this Twofold reads 1"),
        (lambda d: d.update(version=True), "'version' must be int"),
        (lambda d: d.update(blocks=[]), "there is no block"),
        (lambda d: d["blocks"].append(7), "is not a mapping"),
        (lambda d: d["blocks"][0].update(column="elsewhere"), "'elsewhere', which has no features"),
        (lambda d: d["blocks"][0].update(kind="code"), "'kind' is 'code'"),
        (lambda d: d["blocks"][1]["scale"].update(spread=0), "'spread' is 0"),
        (lambda d: d["blocks"][1]["scale"].update(centre="a"), "'centre' must be float"),
        (lambda d: d["plans"][0].update(kind="code"), "'kind' is 'code'"),
        (lambda d: d["plans"][0].update(n_missing=-1), "'n_missing' is -1"),
        (lambda d: d.update(kinds=3), "'kinds' is not a mapping"),
    ],
)
def test_a_damaged_description_is_one_sentence(tmp_path, change, message):
    description = TablePreparation().fit(many()).save(tmp_path)
    change(description)
    with pytest.raises(ValueError, match=message) as caught:
        TablePreparation.open(description, tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_damaged_arrays_are_one_sentence(tmp_path):
    description = TablePreparation().fit(many()).save(tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:50], b"\xff" * 100):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"safetensors cannot be read"):
            TablePreparation.open(description, tmp_path)
    file.write_bytes(content.replace(b"idf", b"fid"))
    with pytest.raises(ValueError, match=r"the array 'idf' is missing"):
        TablePreparation.open(description, tmp_path)
    file.unlink()
    with pytest.raises(ValueError, match=r"safetensors cannot be read"):
        TablePreparation.open(description, tmp_path)


def test_texts_become_the_vectors_of_a_local_model(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="the extra twofold[text] is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, "[PAD]": 1, "red": 2, "green": 3, "chair": 4, "table": 5}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "model")
    table = {"title": ["red chair", "green table", "red table", "green chair"] * 5}
    preparation = TablePreparation({"title": "text"}, text_model=tmp_path / "model").fit(table)
    features = preparation.transform(table)[:, -4:].toarray()  # n-grams stand before them
    expected = (vectors[2] + vectors[4]) / np.linalg.norm(vectors[2] + vectors[4])
    np.testing.assert_allclose(features[0] / np.linalg.norm(features[0]), expected, atol=1e-5)


def test_texts_become_the_vectors_of_a_local_sentence_transformer(tmp_path, capfd):
    why = "sentence-transformers, which no extra of ours brings along, is not installed"
    library = pytest.importorskip("sentence_transformers", reason=why)
    from transformers import BertConfig, BertModel, BertTokenizerFast

    (tmp_path / "bert").mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "chair", "table"]
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(tmp_path / "bert" / "vocab.txt")).save_pretrained(tmp_path / "bert")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), intermediate_size=8, **sizes)
    BertModel(config).save_pretrained(tmp_path / "bert")
    made = library.SentenceTransformer(str(tmp_path / "bert"), device="cpu")  # means of words
    made.save(str(tmp_path / "model"))
    capfd.readouterr()
    table = {"title": ["red chair", "green table", "red table", "green chair"] * 5}
    preparation = TablePreparation({"title": "text"}, text_model=tmp_path / "model").fit(table)
    features = preparation.transform(table)[:, -8:].toarray()
    assert capfd.readouterr().err == ""  # no bars
    expected = made.encode(table["title"], show_progress_bar=False)
    np.testing.assert_allclose(
        features / np.linalg.norm(features, axis=1, keepdims=True),
        expected / np.linalg.norm(expected, axis=1, keepdims=True),
        atol=1e-5,
    )
