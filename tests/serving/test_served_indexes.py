"""A server with an index of columns or of codes: what it returns, and what it refuses."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from asked_server import served
from pyarrow import csv
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge

import twofold
from twofold import HashLearner, MetricLearner
from twofold.preparation import TablePreparation
from twofold.search.stores import Card, create_store
from twofold.tasks import Decision, IndexRequest, PreparedModel, index_files, model_fingerprint

X, Y = load_iris(return_X_y=True)
ITEM = dict(zip("abcd", X[0].tolist(), strict=True))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server of a model of rows, whose index was made of a CSV."""
    place = tmp_path_factory.mktemp("served")
    features = dict(zip("abcd", X.T, strict=True))
    codes = [f"{n:04}" for n in range(150)]
    table = pa.table({"id": codes, **features, "target": Y, "code": codes})
    csv.write_csv(table, place / "rows.csv", csv.WriteOptions(quoting_style="none"))
    preparation = TablePreparation(columns=list("abcd")).fit(table)
    learner = MetricLearner(2, embedder=Ridge(), random_state=0)
    learner.fit(preparation.transform(table), Y)
    model = PreparedModel(learner, "table", preparation, Decision("embedding", None))
    data, columns = (place / "rows.csv",), ("target", "code")
    index_files(
        IndexRequest(
            model=model.save(place / "model"), data=data, out=place / "index", columns=columns
        )
    )
    with served(place / "model", index=place / "index") as client:
        yield client


def test_numbers_of_a_csv_are_numbers(client):
    body = {"items": [ITEM], "k": 150, "where": ["target < 2", "target >= 1"]}
    status, answer = client.post("/neighbours", body)
    assert status == 200
    (found,) = answer["neighbours"]
    assert {one["id"] for one in found} == {f"{row:04}" for row in np.flatnonzero(Y == 1)}
    assert all(one["fields"] == {"target": 1, "code": one["id"]} for one in found)
    _, answer = client.post("/neighbours", body | {"where": ["code = 0012"]})
    assert [one["id"] for one in answer["neighbours"][0]] == ["0012"]


@pytest.mark.parametrize(
    ("where", "sentence"),
    [("code < 3", "write code < '3' to compare it as text"), ("target = x", "holds numbers")],
)
def test_a_condition_that_compares_text_with_a_number_is_refused(client, where, sentence):
    status, answer = client.post("/neighbours", {"items": [ITEM], "where": [where]})
    assert status == 422
    assert sentence in answer["error"]


def test_codes_of_bits_are_served(tmp_path):
    learner = HashLearner(12, embedder=LogisticRegression(), random_state=0).fit(X, Y)
    model = learner.save(tmp_path / "model")
    np.save(tmp_path / "rows.npy", X)
    index_files(IndexRequest(model=model, data=(tmp_path / "rows.npy",), out=tmp_path / "index"))
    with served(tmp_path / "model", index=tmp_path / "index") as client:
        items = X[[3, 120]].tolist()
        _, answer = client.post("/embed", {"items": items})
        assert answer["points"] == learner.transform(X[[3, 120]]).tolist()
        _, answer = client.post("/neighbours", {"items": items, "k": 1})
        assert [hits[0]["distance"] for hits in answer["neighbours"]] == [0, 0]


def test_dates_and_nan_of_a_column_are_json(vectors, tmp_path):
    learner = twofold.load(vectors / "model")
    card = Card(
        store="folder",
        model=model_fingerprint(vectors / "model"),
        metric=learner.metric_,
        dim=2,
        columns=("day", "size"),
    )
    store = create_store(tmp_path / "index", card)
    columns = pa.table({"day": [date(2024, 5, 1)], "size": [float("nan")]})
    store.upsert(["x"], learner.transform(X[:1]), columns)
    store.flush()
    with served(vectors / "model", index=tmp_path / "index") as client:
        _, answer = client.post("/neighbours", {"items": X[:1].tolist()})
    assert answer["neighbours"][0][0]["fields"] == {"day": "2024-05-01", "size": None}
