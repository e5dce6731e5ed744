"""Who may talk to the page: this machine's browser with the link's token, and nobody else.

Every request is looked at before anything else sees it: its Host, its Origin and its token. So a
page of another site can neither read nor answer, whatever it knows of the port.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from twofold._core.own_names import own_hosts

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
FORBIDDEN = (
    "This page needs the link that `twofold ask` printed, with its token. Start it again and open "
    "the new link."
)
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


class Guard:
    """Refuses every request that does not come from the page itself, or from its link.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        Of the link.
    host, port
        That the server is bound to.
    """

    def __init__(self, app: ASGIApp, token: str, host: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"twofold_ask_{port}"
        self._hosts = own_hosts(host, port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await self._refuse(scope, receive, send, refusal)
        elif scope["type"] == "http" and self._is_link(scope):
            response = RedirectResponse("/", status_code=303, headers=HEADERS)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused, None if it is not."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return "This server only answers at its own address."
        origin = headers.get("origin")
        needs_origin = scope["type"] == "websocket" or scope["method"] in UNSAFE
        if origin is None and needs_origin:
            return "Requests without an Origin do not come from the page."
        if origin is not None and origin.lower() != f"http://{host}":
            return "This server only answers its own page."
        if self._is_link(scope) or self._has_cookie(headers):
            return None
        return FORBIDDEN

    def _is_link(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return False
        try:
            query = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=8)
        except ValueError:
            return False
        return self._is_token(query.get("token", [""])[0])

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return self._cookie in cookies and self._is_token(cookies[self._cookie].value)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token.encode())

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, why: str) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose(code=1008)(scope, receive, send)
        else:
            response = PlainTextResponse(why, status_code=403, headers=HEADERS)
            await response(scope, receive, send)


def _with_headers(send: Send) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message.get("headers", [])}
            more = [
                (name.encode(), value.encode())
                for name, value in {**HEADERS, "cache-control": "no-store"}.items()
                if name.encode() not in known
            ]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return send_with
