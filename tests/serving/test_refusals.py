"""What is refused, and how a server ends: a sentence for each mistake, and it goes on."""

from __future__ import annotations

import io
import json
import os
import pickle
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from asked_server import served
from typer.testing import CliRunner

from twofold._core.listening import listen
from twofold.cli import app
from twofold.search import IndexStore, NeighbourIndex
from twofold.serving import Limits, ServeRequest, serve
from twofold.serving._guard import Rate

GOOD = {"items": [[5.1, 3.5, 1.4, 0.2]]}
LIMITS = Limits(body_bytes=4000, items=20, neighbours=5)


@pytest.fixture(scope="module")
def client(vectors):
    with served(vectors / "model", index=vectors / "index", limits=LIMITS) as client:
        yield client


def npy(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /nowhere/bomb",)


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/embed", b"{", 400, "not JSON"),
        ("/embed", b"\xff\xfe", 400, "not JSON"),
        ("/embed", b"[" * 3000, 400, "nested too deeply"),
        ("/embed", b'{"items": [[NaN, 1, 1, 1]]}', 400, "NaN, which is not a number"),
        ("/embed", b'{"items": [[1e999, 1, 1, 1]]}', 422, "finite numbers"),
        ("/embed", b"[]", 422, "must be a JSON object, got a list"),
        ("/embed", {}, 422, 'no "items"'),
        ("/embed", {"items": "all"}, 422, "list of items, got text"),
        ("/embed", {"items": []}, 422, "no item"),
        ("/embed", {"items": [[1, 2, 3]]}, 422, "must be 4 numbers"),
        ("/embed", {"items": [[1, 2, 3, "4"]]}, 422, "all of them numbers"),
        ("/embed", {"items": [[1, 2, 3, 4], [1]]}, 422, "all of them numbers"),
        ("/embed", {"items": [{"a": 1}]}, 422, "all of them numbers"),
        ("/embed", {"items": [None]}, 422, "all of them numbers"),
        ("/embed", {"items": [[10**400, 1, 1, 1]]}, 422, "all of them numbers"),
        ("/embed", {"items": [[1, 2, 3, 4]] * 21}, 413, "at most 20"),
        ("/embed", b" " * 4001, 413, "more than 4,000 bytes"),
        ("/similarity", {"left": [[1, 2, 3, 4]]}, 422, 'no "right"'),
        ("/similarity", {"left": [[1, 2, 3, 4]], "right": [[1, 2, 3, 4]] * 2}, 422, "has 1 items"),
        ("/neighbours", GOOD | {"k": 6}, 422, "from 1 to 5"),
        ("/neighbours", GOOD | {"k": True}, 422, "from 1 to 5"),
        ("/neighbours", GOOD | {"k": "²"}, 422, "from 1 to 5"),
        ("/nowhere", GOOD, 404, "no such path"),
        ("/health", GOOD, 405, "not supported for this path"),
    ],
)
def test_a_mistake_is_a_sentence(client, path, body, status, sentence):
    got, answer = client.post(path, body)
    assert (got, list(answer)) == (status, ["error"])
    assert sentence in answer["error"]
    assert client.post("/embed", GOOD)[0] == 200


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "cannot be read"),
        (b"\x93NUMPY\x01\x00", "cannot be read"),
        (npy(np.ones((3, 4)))[:-8], "declares"),
        (npy(np.ones(4)), "row per item"),
        (npy(np.ones((2, 5))), "must be 4 numbers"),
        (npy(np.full((2, 4), np.nan)), "finite numbers"),
        (npy(np.array([["a"] * 4])), "a .npy file of numbers"),
        (npy(np.array([[Bomb()] * 4]), allow_pickle=True), "never loaded"),
        (pickle.dumps(Bomb()), "cannot be read"),
    ],
)
def test_a_numpy_file_is_read_as_a_stranger_s(client, content, sentence):
    status, answer = client.post("/embed", content, "application/x-npy")
    assert status == 422
    assert sentence in answer["error"]


def test_other_types_of_bodies_are_named(client):
    status, answer = client.post("/embed", b"items=1", "application/x-www-form-urlencoded")
    assert (status, "application/json, or application/x-npy" in answer["error"]) == (415, True)
    assert client.post("/similarity", npy(np.ones((2, 4))), "application/x-npy")[0] == 415


def test_pages_of_other_sites_are_refused(client):
    assert client.post("/embed", GOOD, Origin="http://evil.example")[0] == 403
    assert client.post("/embed", GOOD, Host="evil.example")[0] == 403
    assert client.post("/embed", GOOD, Origin=client.address)[0] == 200


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /embed HTTP/1.1\r\nHost: {}\r\nContent-Length: minus\r\n\r\n", b"400"),
        (b"POST /embed HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
         b"Content-Length: 99999999999999\r\n\r\n", b"413"),
        (b"GET /" + b"a" * 500_000 + b" HTTP/1.1\r\nHost: {}\r\n\r\n", b"400"),
        (b"GET /health HTTP/1.1\r\nHost: {}\r\n" + b"X: y\r\n" * 100_000, b"400"),
        (b"GET /live HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
         b"Sec-WebSocket-Key: x\r\n\r\n", b"404"),
    ],
)  # fmt: skip
def test_what_is_no_http_is_refused_and_the_server_goes_on(client, said, status):
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as link:
        with suppress(ConnectionError):  # it has answered before the end of nonsense
            link.sendall(said.replace(b"{}", client.host.encode()))
        assert link.recv(2**16).split()[1] == status
    assert client.get("/health")[0] == 200


def test_a_client_that_goes_away_costs_nothing(client):
    with socket.create_connection(("127.0.0.1", client.port)) as link:
        head = f"POST /embed HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
        link.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    assert client.post("/embed", GOOD)[0] == 200


def test_a_body_that_does_not_arrive_is_not_waited_for(vectors):
    with (
        served(vectors / "model", limits=Limits(body_seconds=0.05)) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=20) as link,
    ):
        head = f"POST /embed HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
        link.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in link.recv(2**16)


def test_who_asks_too_often_waits(vectors):
    with served(vectors / "model", limits=Limits(rate=0.01)) as client:
        assert client.get("/health")[0] == 200
        status, headers, content = client.send("GET", "/health")
    assert (status, 90 < int(headers["retry-after"]) <= 101) == (429, True)
    assert "Too many requests" in json.loads(content)["error"]


def test_a_rate_is_each_client_s_own_and_comes_back():
    rate = Rate(2.0)
    assert [rate.seconds_to_wait("a", 0.0) for _ in range(3)] == [0, 0, 0.5]
    assert rate.seconds_to_wait("b", 0.0) == 0
    assert rate.seconds_to_wait("a", 0.6) == 0
    assert rate.seconds_to_wait("a", 0.6) == pytest.approx(0.4)


def test_more_than_may_wait_is_sent_away(vectors):
    with served(vectors / "model", limits=Limits(waiting=1)) as client:
        status, answer = client.post("/embed", {"items": [[1, 2, 3, 4]] * 2})
        assert (status, "already waiting" in answer["error"]) == (503, True)
        assert client.post("/embed", GOOD)[0] == 200


# What cannot be served


def run(*words):
    return CliRunner().invoke(app, ["serve", *map(str, words)])


def test_a_port_in_use_is_a_sentence(vectors):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ended = run(vectors / "model", "--port", port)
    assert isinstance(ended.exception, OSError)
    assert f"Port {port} is in use" in str(ended.exception)


def test_an_index_of_another_model_is_refused(vectors, tmp_path):
    index = NeighbourIndex("cosine")
    index.add([1], [[1.0, 2.0, 3.0]])
    index.save(tmp_path / "other")
    store = IndexStore("euclidean", model="another")
    store.save(tmp_path / "kept")
    for name, sentence in (("other", "is of another model"), ("kept", "points of another model")):
        with pytest.raises(ValueError, match=sentence):
            serve(ServeRequest(model=vectors / "model", index=tmp_path / name, port=0))
    with pytest.raises(FileNotFoundError, match=r"[Tt]wofold index: it has no"):
        serve(ServeRequest(model=vectors / "model", index=tmp_path / "none", port=0))


def test_an_extra_that_is_not_there_is_named_with_its_line(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"needs uvicorn: pip install 'twofold\[serve\]'"):
        serve(ServeRequest(model=vectors / "model", port=0))


# How it ends


def test_what_is_in_flight_is_answered_before_the_end(vectors):
    program = Path(__file__).with_name("ends_in_flight.py")
    answer = subprocess.run(
        [sys.executable, program, vectors / "model"], capture_output=True, text=True, check=True
    )
    status, n_requests, signal_given_back, is_up = json.loads(answer.stdout)
    assert (status, n_requests) == (200, 1)
    assert signal_given_back
    assert not is_up
