"""Who is not the page: every request of a stranger is refused, and the server stays up."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

N_REQUESTS = 1000
OUTSIDE = (
    "/page/../_store.py",
    "/page/..%2f_store.py",
    "/page/%2e%2e/_store.py",
    "/page//etc/passwd",
    "/page/%2fetc%2fpasswd",
    "/page/.",
    "/page/index.html%00.js",
    "/page/nothing.js",
    "/image/../../etc/passwd",
    "/image/-1",
    "/image/24",
    "/image/999999999999999999999999",
    "/image/1e3",
    "/image/0x10",
    "/../../etc/passwd",
    "/items?rows=-1",
    "/items?rows=a",
    "/items?rows=1,2,99999999999999999999",
    "/items?rows=",
    "/secret",
    "/live",
    "/answers.sqlite",
)
"""What even the page itself does not get."""
MESSAGES = (
    "",
    "null",
    "[]",
    "7",
    "{",
    "{}",
    '{"type": 1}',
    '{"type": "nothing"}',
    '{"type": "hello"}',
    '{"type": "hello", "who": 5}',
    '{"type": "hello", "who": "\\ud800"}',
    '{"type": "answer"}',
    '{"type": "answer", "key": "k", "question": "q", "same": true}',
    '{"type": "answer", "key": "", "question": "q", "same": true}',
    '{"type": "answer", "key": "k", "question": {"a": 1}, "same": [1e400]}',
    '{"type": "mark", "key": "k", "left": 0, "right": 0, "same": true}',
    '{"type": "mark", "key": "k", "left": -1, "right": 99, "same": true}',
    '{"type": "mark", "key": "k", "left": 0, "right": 1, "same": null}',
    '{"type": "mark", "key": "k", "left": 0.5, "right": 1, "same": true}',
    '{"type": "mark", "key": "k", "left": true, "right": 2, "same": true}',
    '{"type": "undo"}',
    '{"type": "neighbours", "item": 1e9, "k": 3}',
    '{"type": "neighbours", "item": 999999999999999999999, "k": 3}',
    '{"type": "neighbours", "item": 0, "k": -3}',
    '{"type": "find", "text": 5}',
    '{"type": "find", "text": "' + "a" * 300 + '"}',
    '{"type": "more", "have": "abc"}',
    '{"type": "more", "have": [1, 2]}',
    "[" * 5000,
    "\x00",
)


def strangers(server, rng):
    """Yield hostile requests: path, method and headers."""
    paths = ["/", "/page/index.html", "/image/0", "/items?rows=0", "/map", *OUTSIDE]
    here, beside = f"127.0.0.1:{server.port}", f"127.0.0.1:{server.port + 1}"
    hosts = ["evil.example", f"evil.example:{server.port}", "127.0.0.1", "", beside,
             f"{here}.evil.example", "[::1", "\xff"]  # fmt: skip
    origins = ["http://evil.example", "null", f"https://{here}", f"http://{beside}", "", "\xff"]
    cookies = [None, "", f"twofold_ask_{server.port}=", f"twofold_ask_{server.port}=x",
               f"twofold_ask_{server.port}={server.token}x", "a=b; " * 200, "=;=", "\xff",
               f"twofold_ask_{server.port + 1}={server.token}"]  # fmt: skip
    methods = ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]
    for _ in range(N_REQUESTS):
        path = paths[rng.integers(len(paths))]
        what = rng.integers(5)
        if what == 0:
            yield path, "GET", {"Host": hosts[rng.integers(len(hosts))]}
        elif what == 1:
            yield path, "GET", {"Origin": origins[rng.integers(len(origins))]}
        elif what == 2:
            yield path, "GET", {"Cookie": cookies[rng.integers(len(cookies))]}
        elif what == 3:
            yield path, methods[rng.integers(len(methods))], {"Origin": None}
        else:
            token = "".join(map(chr, rng.integers(33, 126, size=rng.integers(1, 40))))
            yield f"/?token={token}".replace(" ", ""), "GET", {"Cookie": None}


def test_a_thousand_requests_of_a_stranger_are_refused(server):
    rng = np.random.default_rng(0)
    for path, method, headers in strangers(server, rng):
        status, sent, content = server.request(path, method, **headers)
        assert 400 <= status < 500, (path, method, headers, status)
        assert b"Traceback" not in content
        assert "set-cookie" not in {name.lower() for name in sent}
    assert server.request("/items?rows=0")[0] == 200


@pytest.mark.parametrize("path", OUTSIDE)
def test_the_page_itself_gets_nothing_but_what_is_its_own(server, path):
    status, _, content = server.request(path)
    assert 400 <= status < 500
    assert b"import" not in content
    assert b"root:" not in content


def test_the_link_gives_a_cookie_that_scripts_cannot_read_and_leads_to_the_page(server):
    status, headers, _ = server.request(f"/?token={server.token}", cookie=False)
    assert status == 303
    assert headers["location"] == "/"
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=lax" in headers["set-cookie"].lower()


def test_every_answer_forbids_what_comes_from_outside(server):
    for path, cookie in (("/items?rows=0", True), ("/image/0?side=64", True), ("/", False)):
        _, headers, _ = server.request(path, cookie=cookie)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_a_picture_is_scaled_and_of_the_items_only(server):
    status, headers, content = server.request("/image/3?side=64")
    assert (status, headers["content-type"]) == (200, "image/png")
    assert content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "changes", [{"origin": "http://evil.example"}, {"origin": None}, {"cookie": "a=b"}]
)
def test_a_websocket_of_a_stranger_is_refused(server, changes):
    options = {"origin": server.origin, "cookie": server.cookie, **changes}
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(
            f"ws://127.0.0.1:{server.port}/live",
            origin=options["origin"],
            additional_headers={"Cookie": options["cookie"]},
        ),
    ):
        pass


@pytest.mark.parametrize("message", MESSAGES, ids=lambda text: text[:50])
def test_a_message_that_makes_no_sense_is_refused_in_a_sentence(server, message):
    with server.page("Max") as page:
        page.send(message)
        refused = page.wait("refused")
        assert refused["sentence"].endswith(".")
        page.say("find", text="00", k=3)
        assert page.wait("found")["list"] == [0]


def test_who_only_talks_nonsense_is_left(server):
    with server.page("Max") as page:
        for _ in range(20):
            page.send("nonsense")
            page.wait("refused")
        with pytest.raises(ConnectionClosed):
            page.wait("never")
    with server.page("Max") as page:  # bytes, which no page of ours sends
        page.send(b"\x00\xff")
        with pytest.raises(ConnectionClosed):
            page.wait("never")


def test_a_message_or_a_picture_that_is_too_large_is_refused(server):
    with server.page("Max") as page:
        page.send(json.dumps({"type": "find", "text": "a" * 2**20}))
        with pytest.raises(ConnectionClosed):
            page.wait("never")
    with socket.create_connection(("127.0.0.1", server.port)) as link:
        head = (
            f"POST /drop HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.origin}\r\n"
            f"Cookie: {server.cookie}\r\nContent-Length: {2**31}\r\n\r\n"
        )
        link.sendall(head.encode())
        answered = b""
        try:
            for _ in range(40):
                link.sendall(os.urandom(2**20))
        except OSError:
            pass
        link.settimeout(10)
        try:
            answered = link.recv(2**16)
        except OSError:
            answered = b"HTTP/1.1 413"  # it hung up before we read
    assert b" 413" in answered.split(b"\r\n")[0]
    assert server.request("/items?rows=0")[0] == 200


def test_a_dropped_picture_finds_its_like_and_anything_else_is_a_sentence(server):
    picture = (server.data / "06.png").read_bytes()
    with server.page("Max") as page:
        page.questions()  # there are some as soon as the items are read
    status, _, content = server.request("/drop?k=3", "POST", body=picture, Origin=server.origin)
    assert status == 200
    assert json.loads(content)["list"][0]["item"] == 6
    for body in (b"", b"nothing", picture[:40]):
        status, _, content = server.request("/drop", "POST", body=body, Origin=server.origin)
        assert status == 422
        assert "cannot be read" in json.loads(content)["sentence"]
    assert server.request("/drop?k=0", "POST", body=picture, Origin=server.origin)[0] == 400


def test_headers_without_end_are_refused(server):
    with socket.create_connection(("127.0.0.1", server.port)) as link:
        link.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 2**20)
        link.settimeout(10)
        try:
            answered = link.recv(2**16)
        except ConnectionResetError:
            answered = b""
    assert answered == b"" or b" 400" in answered.split(b"\r\n")[0]
