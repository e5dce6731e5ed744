"""`twofold index`: rows, or points of shards, in an index that takes in more and is served."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from typer.testing import CliRunner

from twofold import HashLearner, MetricLearner
from twofold.cli import app
from twofold.evaluation import pair_similarity
from twofold.preparation import TablePreparation
from twofold.search.stores import Condition, open_store
from twofold.tasks import (
    Decision,
    EmbedShardsRequest,
    IndexRequest,
    PreparedModel,
    embed_shards,
    index_files,
    model_fingerprint,
    open_index,
)

X, Y = load_iris(return_X_y=True)
NAMES = ("a", "b", "c", "d")


def table_of(rows: slice, first_id: int = 0, **more) -> pa.Table:
    columns = dict(zip(NAMES, X[rows].T, strict=True))
    n_rows = len(X[rows])
    ids = [f"f{first_id + n}" for n in range(n_rows)]
    return pa.table({"id": ids, **columns, "kind": [f"k{y}" for y in Y[rows]], **more})


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    preparation = TablePreparation().fit(table)
    learner = MetricLearner(2, embedder=Ridge(), random_state=0)
    learner.fit(preparation.transform(table), Y)
    folder = tmp_path_factory.mktemp("index") / "model"
    return PreparedModel(learner, "table", preparation, Decision("embedding", None)).save(folder)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_rows_are_taken_in_with_their_columns_and_more_of_them_later(model, tmp_path):
    csv.write_csv(table_of(slice(0, 150, 2)), tmp_path / "flowers.csv")
    out = tmp_path / "flowers.index"
    done = run("index", model, tmp_path / "flowers.csv", "--out", out, "--columns", "kind")
    assert done.exit_code == 0, done.output
    assert "Added 75 rows; " in done.output
    assert "now has 75 items" in done.output
    parquet.write_table(table_of(slice(1, 21, 2), 70), tmp_path / "more.parquet")
    done = run("index", model, tmp_path / "more.parquet", "--out", out, "--json")
    assert done.exit_code == 0, done.output
    assert '"n_items": 80' in done.output
    opened = PreparedModel.open(model)
    index = open_index(out, model, opened)
    points = opened.learner.transform(opened.preparation.transform(table_of(slice(1, 2))))
    ((replaced,),) = index.query(points, 1, [Condition.parse("id=f70")])
    assert replaced.fields == {"kind": "k0"}
    expected = pair_similarity(np.repeat(points, 2, axis=0), [0], [1], index.metric)
    np.testing.assert_allclose(replaced.similarity, expected[0], atol=1e-5)
    kinds = index.query(points, 9, [Condition.parse("kind=k2")])[0]
    assert {hit.fields["kind"] for hit in kinds} == {"k2"}


def test_points_of_shards_are_not_made_again(model, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    for part in range(2):
        rows = slice(part * 75, part * 75 + 75)
        parquet.write_table(table_of(rows, 75 * part), tmp_path / "in" / f"{part}.parquet")
    embed_shards(
        EmbedShardsRequest(model=model, data=(tmp_path / "in/*.parquet",), out=tmp_path / "out")
    )
    rows = index_files(
        IndexRequest(model=model, data=(tmp_path / "in/*.parquet",), out=tmp_path / "rows")
    )
    monkeypatch.setattr(PreparedModel, "embed", lambda *_: pytest.fail("embedded again"))
    made = index_files(
        IndexRequest(model=model, data=(tmp_path / "out/*.parquet",), out=tmp_path / "points")
    )
    assert (made.n_items, rows.n_items) == (150, 150)
    one, other = (open_store(tmp_path / name)[0] for name in ("rows", "points"))
    queries = np.array([[0.0, 0.5], [0.5, 0.0]], dtype=np.float32)
    assert one.query(queries, 7) == other.query(queries, 7)


PRICES = {"price": ["1", "", "3"], "zip": ["0012", "0100", "7"]}


def csv_of(path: Path, prices: list[str], first_id: int = 0) -> Path:
    """Write rows of a text file: strings without quotes, as they are written by hand."""
    table = table_of(
        slice(0, len(prices)), first_id, price=prices, zip=PRICES["zip"][: len(prices)]
    )
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="none"))
    return path


def kept(out: Path) -> dict[str, list]:
    """Return what an index keeps, by id."""
    store, card = open_store(out)
    hits = store.query(np.zeros((1, card.dim), dtype=np.float32), store.n_items)[0]
    return {hit.id: list(hit.fields.values()) for hit in hits}


@pytest.mark.parametrize(
    ("others", "kind", "values"),
    [
        ([], "whole numbers", [1, None, 3]),
        ([["2.5"]], "numbers", [1.0, None, 3.0, 2.5]),
        ([["NA"]], "whole numbers", [1, None, 3, None]),
        ([["4"], ["two"]], "text", ["1", "", "3", "4", "two"]),
    ],
)
def test_columns_of_text_files_are_numbers_if_all_files_say_so(
    model, tmp_path, others, kind, values
):
    files, first_id = [csv_of(tmp_path / "0.csv", PRICES["price"])], 3
    for number, prices in enumerate(others, 1):
        files.append(csv_of(tmp_path / f"{number}.csv", prices, first_id))
        first_id += len(prices)
    words = ["--out", tmp_path / "index", "--columns", "price,zip"]
    done = run("index", model, *files, *words)
    assert done.exit_code == 0, done.output
    assert f"Columns: price ({kind}), zip (text)." in done.output
    found = kept(tmp_path / "index")
    assert [found[f"f{n}"][0] for n in range(first_id)] == values
    assert [type(found[f"f{n}"][0]) for n in range(first_id)] == list(map(type, values))
    assert [found[f"f{n}"][1] for n in range(3)] == PRICES["zip"]


def test_numbers_of_parquet_and_of_text_are_kept_together(model, tmp_path):
    csv_of(tmp_path / "0.csv", PRICES["price"])
    parquet.write_table(table_of(slice(0, 2), 3, price=[7, 8]), tmp_path / "1.parquet")
    files = (tmp_path / "0.csv", tmp_path / "1.parquet")
    made = index_files(
        IndexRequest(model=model, data=files, out=tmp_path / "index", columns=("price",))
    )
    assert made.columns == {"price": "whole numbers"}
    assert sorted(kept(tmp_path / "index").items())[3:] == [("f3", [7]), ("f4", [8])]


def test_a_later_value_that_does_not_fit_is_named_before_the_work(model, tmp_path, monkeypatch):
    out = tmp_path / "index"
    files = (csv_of(tmp_path / "0.csv", PRICES["price"]),)
    index_files(IndexRequest(model=model, data=files, out=out, columns=("price", "zip")))
    fits = csv_of(tmp_path / "fits.csv", ["5.0", "NA"], 3)
    index_files(IndexRequest(model=model, data=(fits,), out=out))
    assert kept(out)["f3"] == [5, "0012"]
    before = kept(out)
    monkeypatch.setattr(PreparedModel, "embed", lambda *_: pytest.fail("embedded before"))
    wrong = csv_of(tmp_path / "wrong.csv", ["6", "2.5"], 5)
    sentence = (
        r"'price' is kept as whole numbers, but .*wrong.csv has '2.5' there at line 3: correct"
    )
    with pytest.raises(ValueError, match=sentence):
        index_files(IndexRequest(model=model, data=(fits, wrong), out=out))
    assert kept(out) == before


def test_a_number_that_no_column_could_keep_with_the_others_is_named(model, tmp_path):
    csv_of(tmp_path / "0.csv", ["2.5"])
    parquet.write_table(table_of(slice(0, 2), 3, price=[7, 2**53 + 1]), tmp_path / "1.parquet")
    files = (tmp_path / "0.csv", tmp_path / "1.parquet")
    sentence = "kept as numbers, but .*1.parquet has '9007199254740993' there at row 1: .* as text"
    with pytest.raises(ValueError, match=sentence):
        index_files(
            IndexRequest(model=model, data=files, out=tmp_path / "index", columns=("price",))
        )


def test_codes_of_bits_are_embedded_and_indexed(tmp_path):
    learner = HashLearner(12, embedder=LogisticRegression(), random_state=0).fit(X, Y)
    learner.save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", X[:70])
    np.save(tmp_path / "in" / "b.npy", X[70:])
    expected, model = learner.transform(X), tmp_path / "model"
    for name in ("points.npy", "points.parquet"):
        done = run("embed", model, tmp_path / "in" / "a.npy", "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
        assert "Wrote 70 codes of 12 bits, packed into bytes to" in done.output
    written = np.load(tmp_path / "points.npy")
    assert written.dtype == np.uint8
    np.testing.assert_array_equal(written, expected[:70])
    data = (tmp_path / "in/*.npy",)
    embed_shards(EmbedShardsRequest(model=model, data=data, out=tmp_path / "out"))
    made = index_files(
        IndexRequest(model=model, data=(tmp_path / "out/*.parquet",), out=tmp_path / "index")
    )
    store = open_store(made.out)[0]
    assert made.n_items == 150
    assert all(hits[0].distance == 0 for hits in store.query(expected, 1))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("{}/none.csv",), "none.csv does not exist"),
        (("{}/f.csv", "--columns", "colour"), "no column 'colour'"),
        (("{}/f.csv", "{}/again.csv"), "'f0' in .*again.csv occurs in more than one row"),
        (("{}/other.csv",), "has no column 'd'"),
        (("{}/points.parquet",), "holds points of another model"),
        (("{}/f.csv", "--url", "http://127.0.0.1:9"), "--url is for a Qdrant server"),
    ],
)
def test_a_mistake_is_a_sentence_and_nothing_is_kept(model, tmp_path, words, sentence):
    csv.write_csv(table_of(slice(0, 9)), tmp_path / "f.csv")
    csv.write_csv(table_of(slice(0, 2)), tmp_path / "again.csv")
    csv.write_csv(table_of(slice(0, 9)).drop_columns(["d"]), tmp_path / "other.csv")
    points = pa.table({"id": [1], "point": [[1.0, 2.0]]})
    points = points.replace_schema_metadata({"twofold": '{"model": "another"}'})
    parquet.write_table(points, tmp_path / "points.parquet")
    named = [word.format(tmp_path) for word in words]
    ended = run("index", model, *named, "--out", tmp_path / "index")
    assert ended.exception is not None
    with pytest.raises(type(ended.exception), match=sentence):
        raise ended.exception
    assert not (tmp_path / "index").exists()


def test_an_index_of_another_model_or_store_is_refused(model, tmp_path):
    csv.write_csv(table_of(slice(0, 9)), tmp_path / "f.csv")
    request = {"data": (tmp_path / "f.csv",), "out": tmp_path / "index"}
    index_files(IndexRequest(model=model, **request))
    opened = PreparedModel.open(model)
    opened.learner.threshold_ = 0.25
    other = opened.save(tmp_path / "other")
    assert model_fingerprint(other) != model_fingerprint(model)
    with pytest.raises(ValueError, match="holds points of another model"):
        index_files(IndexRequest(model=other, **request))
    with pytest.raises(ValueError, match="was made with --store folder, not lance"):
        index_files(IndexRequest(model=model, store="lance", **request))
    with pytest.raises(ValueError, match="was made with --columns"):
        index_files(IndexRequest(model=model, columns=("kind",), **request))
