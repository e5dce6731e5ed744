"""`twofold search` in a folder that `twofold index` wrote: as in the rows, without embedding."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from typer.testing import CliRunner

from twofold import HashLearner, MetricLearner
from twofold.cli import app
from twofold.preparation import TablePreparation
from twofold.report import search_page
from twofold.search import NeighbourIndex, SearchWarning
from twofold.search.stores import Card, Hit, create_store
from twofold.tasks import (
    Decision,
    IndexRequest,
    PreparedModel,
    SearchRequest,
    index_files,
    model_fingerprint,
    open_index,
    search_files,
)
from twofold.tasks._nearest_rows import equally_many

X, Y = load_iris(return_X_y=True)
N_ROWS = 130
PACKAGES = {"faiss": "faiss", "lance": "lancedb", "qdrant": "qdrant_client"}


def needs(store: str):
    package = PACKAGES.get(store, "numpy")
    reason = f"needs {package}: pip install 'twofold[{store}]'"
    return pytest.param(store, marks=pytest.mark.skipif(not find_spec(package), reason=reason))


# What the packages of others do at their import, and to files when they end, is theirs.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A model, the rows to search in, and those to search for."""
    place = tmp_path_factory.mktemp("flowers")
    order = np.random.default_rng(0).permutation(len(X))
    features = dict(zip("abcd", X[order].T, strict=True))
    kinds = pa.array([f"k{y}" for y in Y[order]])
    table = pa.table({"id": [f"f{row}" for row in order], **features, "kind": kinds})
    parquet.write_table(table[:N_ROWS], place / "known.parquet")
    csv.write_csv(table[N_ROWS:], place / "new.csv")
    preparation = TablePreparation(columns=list("abcd")).fit(table)
    learner = MetricLearner(2, embedder=Ridge(), random_state=0)
    learner.fit(preparation.transform(table), Y[order])
    decision = Decision("embedding", None)
    PreparedModel(learner, "table", preparation, decision).save(place / "model")
    return place


def indexed(flowers, out, **more):
    request = IndexRequest(
        model=flowers / "model", data=(flowers / "known.parquet",), out=out, **more
    )
    index_files(request)
    return out


def searched(flowers, index, **more):
    return search_files(
        SearchRequest(
            model=flowers / "model", index=index, query=flowers / "new.csv", **{"k": 7, **more}
        )
    )


@pytest.mark.parametrize("store", [needs(store) for store in ("folder", *PACKAGES)])
def test_an_index_gives_what_its_rows_give_and_embeds_the_queries_alone(
    flowers, tmp_path, monkeypatch, store
):
    index = indexed(flowers, tmp_path / "index", store=store, columns=("kind", "a"))
    rows = searched(
        flowers, flowers / "known.parquet", columns=("kind", "a"), store=tmp_path / "kept"
    )
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    embedded = []
    embed = PreparedModel.embed
    monkeypatch.setattr(
        PreparedModel,
        "embed",
        lambda model, records: embedded.append(records.path.name) or embed(model, records),
    )
    result = searched(flowers, index, columns=("kind", "a"))
    assert embedded == ["new.csv"]
    assert (result.n_items, result.n_embedded, result.store) == (N_ROWS, 0, index)
    np.testing.assert_array_equal(result.query_ids, rows.query_ids)
    np.testing.assert_allclose(result.neighbours.similarity, rows.neighbours.similarity, atol=1e-5)
    np.testing.assert_allclose(result.neighbours.distance, rows.neighbours.distance, atol=1e-5)
    if store in ("folder", "faiss"):  # a database orders equally similar rows as it likes
        np.testing.assert_array_equal(result.neighbours.ids, rows.neighbours.ids)
        assert result.fields == rows.fields
        after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        assert after == before


def test_the_command_prints_and_writes_what_it_does_for_rows(flowers, tmp_path):
    index = indexed(flowers, tmp_path / "index", columns=("kind",))
    said, written = [], []
    for number, place in enumerate((index, flowers / "known.parquet")):
        words = ["search", flowers / "model", "--index", place, "--query", flowers / "new.csv"]
        words += ["-k", 3, "--columns", "kind"]
        words += [] if place == index else ["--store", tmp_path / "kept"]
        out = tmp_path / f"{number}.parquet"
        done = CliRunner().invoke(app, list(map(str, [*words, "--json", "--out", out])))
        assert done.exit_code == 0, done.output
        said.append(json.loads(done.stdout)["queries"])
        written.append(parquet.read_table(out))
        done = CliRunner().invoke(app, list(map(str, [*words, "--page", tmp_path / f"{number}"])))
        assert done.exit_code == 0, done.output
        assert "Nearest to f" in done.output
    assert [[one["id"] for one in query["nearest"]] for query in said[0]] == [
        [one["id"] for one in query["nearest"]] for query in said[1]
    ]
    assert said[0][0]["nearest"][0]["kind"] in ("k0", "k1", "k2")
    assert written[0].drop_columns(["similarity", "distance"]) == written[1].drop_columns(
        ["similarity", "distance"]
    )
    assert "The 3 nearest of 20 rows" in (tmp_path / "0").read_text()


def test_dates_and_nan_are_printed_as_json(flowers, tmp_path):
    rows = parquet.read_table(flowers / "known.parquet")
    rows = rows.append_column("day", pa.array([date(2024, 5, 1)] * N_ROWS))
    rows = rows.append_column("size", pa.array([float("nan")] * N_ROWS))
    parquet.write_table(rows, tmp_path / "dated.parquet")
    words = ["search", flowers / "model", "--index", tmp_path / "dated.parquet"]
    words += ["--query", flowers / "new.csv", "-k", 1, "--columns", "day,size", "--json"]
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    nearest = json.loads(done.stdout)["queries"][0]["nearest"][0]
    assert (nearest["day"], nearest["size"]) == ("2024-05-01", None)


@pytest.mark.parametrize("kind", ["kept", "saved"])
def test_what_search_keeps_and_what_an_index_in_python_saves_are_searched_too(
    flowers, tmp_path, kind
):
    rows = searched(flowers, flowers / "known.parquet", store=tmp_path / "kept")
    if kind == "saved":
        NeighbourIndex.open(tmp_path / "kept").save(tmp_path / "saved")
    result = searched(flowers, tmp_path / kind)
    assert result.n_embedded == 0
    np.testing.assert_array_equal(result.neighbours.ids, rows.neighbours.ids)
    np.testing.assert_array_equal(result.neighbours.similarity, rows.neighbours.similarity)


def test_all_items_are_returned_where_there_are_fewer_than_asked_for(flowers, tmp_path):
    index = indexed(flowers, tmp_path / "index")
    assert searched(flowers, index, k=500).neighbours.ids.shape == (20, N_ROWS)


def test_ids_that_are_numbers_in_one_file_and_text_in_another_are_written_as_text(
    flowers, tmp_path
):
    index = indexed(flowers, tmp_path / "index")
    numbered = parquet.read_table(flowers / "known.parquet").drop_columns(["id"])
    parquet.write_table(numbered, tmp_path / "numbered.parquet")
    model, more = flowers / "model", tmp_path / "numbered.parquet"
    index_files(IndexRequest(model=model, data=(more,), out=index))
    searched(flowers, index, k=2, out=tmp_path / "out.parquet")
    ids = parquet.read_table(tmp_path / "out.parquet")["id"].to_pylist()
    assert {one[0] == "f" for one in ids} == {True, False}


def test_codes_of_bits_are_searched_in_every_folder(tmp_path):
    learner = HashLearner(12, embedder=LogisticRegression(), random_state=0).fit(X, Y)
    learner.save(tmp_path / "model")
    np.save(tmp_path / "known.npy", X[::2])
    np.save(tmp_path / "new.npy", X[1:20:2])
    request = SearchRequest(
        model=tmp_path / "model", index=tmp_path / "known.npy", query=tmp_path / "new.npy", k=3
    )
    rows = search_files(request)
    data = (tmp_path / "known.npy",)
    index_files(IndexRequest(model=tmp_path / "model", data=data, out=tmp_path / "index"))
    for place in (tmp_path / "index", rows.store):
        result = search_files(replace(request, index=place))
        np.testing.assert_array_equal(result.neighbours.ids, rows.neighbours.ids)
        assert "compared by the bits that differ" in search_page(result)


# Mistakes


def test_an_index_of_another_model_is_refused(flowers, tmp_path):
    index = indexed(flowers, tmp_path / "index")
    searched(flowers, flowers / "known.parquet", store=tmp_path / "kept")
    opened = PreparedModel.open(flowers / "model")
    opened.learner.threshold_ = 0.25
    other = opened.save(tmp_path / "other")
    for place in (index, tmp_path / "kept"):
        request = SearchRequest(model=other, index=place, query=flowers / "new.csv")
        with pytest.raises(ValueError, match=f"{place.name} holds points of another model"):
            search_files(request)


@pytest.mark.parametrize("kind", ["store", "saved"])
@pytest.mark.parametrize(
    ("metric", "dim", "sentence"),
    [
        ("euclidean", 2, r"is of another metric: it compares points by 'euclidean', but .*'dot'"),
        ("dot", 3, r"is of another model: its points have 3 numbers, but those of .* have 2"),
    ],
)
def test_an_index_of_another_metric_or_size_is_refused(
    flowers, tmp_path, kind, metric, dim, sentence
):
    model = flowers / "model"
    assert PreparedModel.open(model).learner.metric_ == "dot"
    points = np.ones((1, dim), dtype=np.float32)
    if kind == "store":
        card = Card(store="folder", model=model_fingerprint(model), metric=metric, dim=dim)
        store = create_store(tmp_path / "store", card)
        store.upsert(["x"], points, None)
        store.flush()
    else:
        index = NeighbourIndex(metric)
        index.add(["x"], points)
        index.save(tmp_path / "saved")
    with pytest.raises(ValueError, match=sentence):
        searched(flowers, tmp_path / kind)
    with pytest.raises(ValueError, match=sentence):  # as `twofold serve` opens it
        open_index(tmp_path / kind, model, PreparedModel.open(model))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": ("b",)}, r"does not keep the column 'b' \(it keeps kind\): .* --columns 'b'"),
        ({"store": "elsewhere"}, "--store says where to keep the index of a file, but"),
        ({"query": "index"}, "is an index, which has points but not the rows"),
        (
            {"index": "bare", "columns": ("kind",)},
            r"does not keep the column 'kind' \(it keeps none\): ",
        ),
        ({"index": "damaged"}, "vectors.json does not say"),
        ({"index": "nothing"}, "nothing does not exist"),
    ],
)
def test_a_mistake_is_a_sentence(flowers, tmp_path, options, sentence):
    indexed(flowers, tmp_path / "index", columns=("kind",))
    indexed(flowers, tmp_path / "bare")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "vectors.json").write_text("{}")
    places = {name: tmp_path / value for name, value in options.items() if isinstance(value, str)}
    options = {"index": tmp_path / "index", "query": flowers / "new.csv"} | options | places
    with pytest.raises((ValueError, OSError), match=sentence):
        search_files(SearchRequest(model=flowers / "model", **options))


def test_an_index_where_search_would_keep_its_own_is_named(flowers, tmp_path):
    rows = tmp_path / "known.parquet"
    rows.write_bytes((flowers / "known.parquet").read_bytes())
    place = indexed(flowers, tmp_path / "known.parquet.index")
    sentence = f"was written by twofold index: search it with --index {place}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        searched(flowers, rows)


@pytest.mark.parametrize("store", ["lance", "qdrant"])
def test_an_index_whose_package_is_not_there_names_its_line(flowers, tmp_path, monkeypatch, store):
    fingerprint = model_fingerprint(flowers / "model")
    (tmp_path / "index").mkdir()
    Card(store=store, model=fingerprint, metric="dot", dim=2).write(tmp_path / "index")
    monkeypatch.setattr(f"twofold.search.stores._{store}.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf"pip install 'twofold\[{store}\]'"):
        searched(flowers, tmp_path / "index")


def test_neighbours_that_a_database_missed_are_told():
    hits = [[Hit(n, 1.0, 0.0, {}) for n in range(k)] for k in (3, 2)]
    with pytest.warns(SearchWarning, match="3 neighbours for some queries but 2 for others"):
        kept = equally_many(hits)
    assert [[hit.id for hit in row] for row in kept] == [[0, 1], [0, 1]]
