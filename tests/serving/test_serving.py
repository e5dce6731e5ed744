"""What a server answers: what the model says, to one client and to many."""

from __future__ import annotations

import base64
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from asked_server import served
from jsonschema import validate
from sklearn.datasets import load_iris

import twofold
from twofold.datasets import read_records
from twofold.serving import Batching
from twofold.tasks import PreparedModel

X = load_iris().data


@pytest.fixture(scope="module")
def learner(vectors):
    return twofold.load(vectors / "model")


@pytest.fixture(scope="module")
def client(vectors):
    with served(vectors / "model", index=vectors / "index") as client:
        yield client


def test_points_are_the_model_s(client, learner):
    status, answer = client.post("/embed", {"items": X[:3].tolist()})
    assert (status, answer["metric"]) == (200, learner.metric_)
    np.testing.assert_allclose(answer["points"], learner.transform(X[:3]), atol=1e-6)


def test_a_matrix_comes_and_goes_as_a_numpy_file(client, learner):
    file = io.BytesIO()
    np.save(file, X[:5].astype(np.float32))
    kinds = {"Content-Type": "application/x-npy", "Accept": "application/x-npy"}
    status, headers, content = client.send("POST", "/embed", file.getvalue(), kinds)
    assert (status, headers["content-type"]) == (200, "application/x-npy")
    points = np.load(io.BytesIO(content), allow_pickle=False)
    np.testing.assert_allclose(points, learner.transform(X[:5].astype(np.float32)), atol=1e-6)


def test_pairs_are_compared_row_by_row_and_decided_by_the_threshold(client, learner):
    left, right = X[[0, 0, 60]], X[[1, 100, 61]]
    _, answer = client.post("/similarity", {"left": left.tolist(), "right": right.tolist()})
    np.testing.assert_allclose(
        answer["similarity"], learner.pair_similarity(left, right), atol=1e-6
    )
    assert answer["same"] == learner.predict_pairs(left, right).tolist()
    assert answer["same"][0] != answer["same"][1]


def test_neighbours_are_those_of_the_index(client, learner):
    from twofold.search import NeighbourIndex

    index = NeighbourIndex(learner.metric_)
    index.add([f"f{row}" for row in range(150)], learner.transform(X))
    expected = index.query(learner.transform(X[7:9]), 4)
    _, answer = client.post("/neighbours", {"items": X[7:9].tolist(), "k": 4})
    assert [[one["id"] for one in row] for row in answer["neighbours"]] == expected.ids.tolist()
    said = [[one["distance"] for one in row] for row in answer["neighbours"]]
    np.testing.assert_allclose(said, expected.distance, atol=1e-5)


def test_requests_that_come_together_are_embedded_together_each_gets_its_own(vectors, learner):
    with served(vectors / "model", batching=Batching(items=64, seconds=0.5)) as client:
        together = threading.Barrier(8)

        def ask(row):
            together.wait()
            # One of them is of no use: it fails alone.
            items = [[1e39, 0, 0, 0]] if row == 3 else X[row : row + 2].tolist()
            return client.post("/embed", {"items": items})

        with ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(ask, range(8)))
        text = client.send("GET", "/metrics")[2].decode()
    for row, (status, answer) in enumerate(answers):
        if row == 3:
            assert status == 422
        else:
            np.testing.assert_allclose(
                answer["points"], learner.transform(X[row : row + 2]), atol=1e-6
            )
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert values["twofold_batch_items_sum"] == "14.0"
    assert int(values["twofold_batch_items_count"]) < 7
    assert values['twofold_requests_total{path="/embed",status="200"}'] == "7"
    assert values['twofold_requests_total{path="/embed",status="422"}'] == "1"
    assert values['twofold_request_seconds_count{path="/embed"}'] == "8"


def test_rows_of_a_table_are_those_of_its_file(products):
    left, right = (read_records(products / f"{side}.csv") for side in ("left", "right"))
    model = PreparedModel.open(products / "model")
    one, other = (side.table.slice(0, 3).to_pylist() for side in (left, right))
    sent = np.arange(3)
    expected = model.pair_scores(left.take(sent), right.take(sent), np.stack([sent, sent], axis=1))
    with served(products / "model") as client:
        _, points = client.post("/embed", {"items": [{**one[0], "more": 1}, *one[1:]]})
        _, answer = client.post("/similarity", {"left": one, "right": other})
        status, refused = client.post("/embed", {"items": [{"title": "x"}]})
        _, mixed = client.post("/embed", {"items": [one[0], one[1] | {"title": 7, "price": "$5"}]})
    np.testing.assert_allclose(points["points"], model.embed(left)[:3], atol=1e-5)
    np.testing.assert_allclose(answer["probability"], expected, atol=1e-6)
    assert answer["same"] == (expected >= 0.5).tolist()
    np.testing.assert_allclose(mixed["points"][0], points["points"][0], atol=1e-5)
    assert status == 422
    assert "Item 0 has no" in refused["error"]


def test_pictures_come_as_files(pictures):
    model = PreparedModel.open(pictures / "model")
    expected = model.embed(read_records(pictures))[:2]
    files = [(pictures / f"{row:02}.png").read_bytes() for row in (0, 1)]
    with served(pictures / "model") as client:
        _, both = client.post(
            "/embed", {"items": [base64.b64encode(one).decode() for one in files]}
        )
        _, one = client.post("/embed", files[1], "image/png")
        status, refused = client.post("/embed", b"GIF89a, or so", "image/gif")
    np.testing.assert_allclose(both["points"], expected, atol=1e-5)
    np.testing.assert_allclose(one["points"], expected[1:], atol=1e-5)
    assert (status, refused["error"][:12]) == (422, "The image at")


def test_what_the_document_says_is_so(client):
    _, document = client.get("/openapi.json")
    for path, methods in document["paths"].items():
        assert client.send("GET", path)[0] == (200 if "get" in methods else 405)
        if "post" not in methods:
            continue
        example = methods["post"]["requestBody"]["content"]["application/json"]
        schemas = {"components": document["components"]}
        validate(example["example"], {**example["schema"], **schemas})
        status, answer = client.post(path, example["example"])
        said = methods["post"]["responses"][str(status)]["content"]["application/json"]["schema"]
        validate(answer, {**said, **schemas})
        assert status == 200


def test_the_page_names_each_call_and_runs_nothing(client):
    _, headers, content = client.send("GET", "/")
    page = content.decode()
    assert all(f"{client.address}{path}" in page for path in ("/embed", "/similarity"))
    assert "<script" not in page
    assert "default-src 'none'" in headers["content-security-policy"]


def test_health_and_facts(client, learner):
    assert client.get("/health") == (200, {"status": "ok"})
    _, facts = client.get("/model")
    assert (facts["n_components"], facts["n_indexed"]) == (2, 150)
    assert json.loads(json.dumps(facts))["threshold"] == pytest.approx(learner.threshold_)
