"""A server in a thread of its own, asked as a client would."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from pathlib import Path

from twofold.serving import ServeRequest, serve


class Client:
    """Asks a server; a connection for each request."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.host = address.removeprefix("http://")
        self.port = int(self.host.rpartition(":")[2])

    def send(self, method, path, body=None, headers=()):
        """Return the status, the headers and the content of an answer."""
        link = http.client.HTTPConnection(self.host, timeout=30)
        try:
            link.request(method, path, body, dict(headers))
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            link.close()

    def get(self, path):
        """Return the status and what JSON a path answers with."""
        status, _, content = self.send("GET", path)
        return status, json.loads(content)

    def post(self, path, body, kind="application/json", **headers):
        """Send JSON, or bytes as they are; return the status and the JSON that comes back."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, content = self.send("POST", path, sent, {"Content-Type": kind, **headers})
        return status, json.loads(content)


@contextmanager
def served(model: Path, **options):
    """Serve a model at a free port while something is done."""
    opened, is_open, closed = [], threading.Event(), []

    def note(one):
        opened.append(one)
        is_open.set()

    def run():
        try:
            closed.append(serve(ServeRequest(model=model, port=0, **options), on_open=note))
        finally:
            is_open.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert is_open.wait(60)
    try:
        yield Client(opened[0].address)
    finally:
        opened[0].end()
        thread.join(60)
    assert closed
