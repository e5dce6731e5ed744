"""Checks of every request before all else: who sends it, how often; and the outcome is counted.

A server that only listens to this machine answers requests for its own names, and none from pages
of other sites: these could otherwise use it on behalf of whoever reads them.
"""

from __future__ import annotations

import time
from collections import OrderedDict

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from twofold._core.own_names import LOOPBACK, own_hosts
from twofold.serving._metrics import Metrics

MOST_CLIENTS = 10_000
"""Addresses whose rate is known; those that asked longest ago are forgotten first."""
BURST_SECONDS = 1.0
"""A client may ask at once for what its rate gives in so long, and for one request at least."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"referrer-policy", b"no-referrer"),
)


class Rate:
    """How often each client may ask: a bucket of tokens that fills again."""

    def __init__(self, a_second: float) -> None:
        self._a_second = a_second
        self._most = max(1.0, a_second * BURST_SECONDS)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, client: str, now: float) -> float:
        """Take a token and return 0; without one, return after how long there is one."""
        tokens, before = self._clients.pop(client, (self._most, now))
        tokens = min(self._most, tokens + (now - before) * self._a_second)
        wait = max(0.0, (1.0 - tokens) / self._a_second)
        self._clients[client] = (tokens if wait else tokens - 1.0, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return wait


class Guard:
    """Refuses requests of strangers and of those who ask too often; counts all of them.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    host, port
        That the server is bound to.
    rate : float or None
        Requests a second of one address.
    metrics : Metrics
        What is told of each answer.
    """

    def __init__(
        self, app: ASGIApp, host: str, port: int, rate: float | None, metrics: Metrics
    ) -> None:
        self._app, self._metrics = app, metrics
        self._hosts = own_hosts(host, port) if host in LOOPBACK else None
        self._rate = None if rate is None else Rate(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        began, status = time.perf_counter(), 500

        async def send_with(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        self._metrics.n_in_flight += 1
        try:
            answer = self._refusal(scope) or self._app
            await answer(scope, receive, send_with)
        finally:
            self._metrics.n_in_flight -= 1
            self._metrics.count(scope["path"], status, time.perf_counter() - began)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """Return the refusal of a request, None if it is none."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self._hosts is not None and host not in self._hosts:
            return _refused(403, "This server only answers at its own address.")
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}":
            return _refused(403, "This server does not answer pages of other sites.")
        if self._rate is None:
            return None
        client = (scope.get("client") or ("", 0))[0]
        wait = self._rate.seconds_to_wait(client, time.monotonic())
        if not wait:
            return None
        return _refused(
            429,
            f"Too many requests: send the next one in {wait:.2g} seconds.",
            {"retry-after": str(int(wait) + 1)},
        )


def _refused(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": sentence}, status_code=status, headers=headers)
