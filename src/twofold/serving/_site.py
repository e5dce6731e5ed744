"""The routes: points, similarities and neighbours of items; health, metrics and what there is."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from twofold.serving._batches import Batcher, OverloadedError
from twofold.serving._bodies import (
    JSON,
    RefusedError,
    check_n_items,
    media_type,
    parse_object,
    read_body,
    take_conditions,
    take_k,
    take_list,
)
from twofold.serving._items import Features
from twofold.serving._metrics import MEDIA_TYPE, Metrics
from twofold.serving._openapi import openapi, page
from twofold.serving._request import Limits
from twofold.serving._served import Served

NPY = "application/x-npy"
PATHS = ("/", "/embed", "/similarity", "/neighbours", "/model", "/health", "/metrics")
MISTAKES = (ValueError, TypeError, OverflowError)
"""What of a client's items cannot be embedded is said in a sentence; anything else is ours."""
Points = NDArray[np.float32]
Endpoint = Callable[[Request], Awaitable[Response]]


class Site:
    """What is served, over HTTP.

    Parameters
    ----------
    served : Served
        The model, and the index if there is one.
    batcher : Batcher
        That embeds.
    metrics : Metrics
        What is counted.
    limits : Limits
        What a client may ask for.
    """

    def __init__(self, served: Served, batcher: Batcher, metrics: Metrics, limits: Limits) -> None:
        self._served, self._batcher, self._metrics = served, batcher, metrics
        self._limits = limits

    def app(self) -> Starlette:
        """Return the application, not yet guarded."""
        posts: dict[str, Endpoint] = {"/embed": self._embed, "/similarity": self._similarity}
        if self._served.index is not None:
            posts["/neighbours"] = self._neighbours
        gets: dict[str, Endpoint] = {
            "/": self._page,
            "/openapi.json": self._openapi,
            "/model": self._model,
            "/health": self._health,
            "/metrics": self._text_of_metrics,
        }
        return Starlette(
            routes=[
                *(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()),
                *(Route(path, endpoint) for path, endpoint in gets.items()),
            ],
            exception_handlers={RefusedError: _refused, HTTPException: _no_such, Exception: _ours},
        )

    async def _embed(self, request: Request) -> Response:
        n_items, features, _ = await self._items(request)
        points = await self._points(n_items, features)
        wanted = request.headers.get("accept", "")
        if NPY in wanted or "application/octet-stream" in wanted:
            file = io.BytesIO()
            np.lib.format.write_array(file, points, allow_pickle=False)
            return Response(file.getvalue(), media_type=NPY)
        return JSONResponse({"points": points.tolist(), "metric": self._served.metric})

    async def _similarity(self, request: Request) -> Response:
        if media_type(request) != JSON:
            raise RefusedError(415, f"Pairs must be sent as JSON: use Content-Type: {JSON}.")
        body = parse_object(await read_body(request, self._limits))
        left, right = (take_list(body, name, self._limits) for name in ("left", "right"))
        if len(left) != len(right):
            raise RefusedError(
                422,
                f'"left" has {len(left)} items and "right" has {len(right)}: item k of one is '
                "compared with item k of the other.",
            )
        points = await self._points(2 * len(left), self._read([*left, *right]))
        similarity = self._served.similarity(points)
        answer = {"similarity": similarity.tolist()}
        decided_by: NDArray[Any] = similarity
        if self._served.has_pair_model:
            decided_by = await self._asked(lambda: self._served.probability(left, right, points))
            answer["probability"] = decided_by.tolist()
        return JSONResponse(answer | {"same": self._served.same(decided_by)})

    async def _neighbours(self, request: Request) -> Response:
        n_items, features, body = await self._items(request)
        asked = body.get("k", request.query_params.get("k", 10))
        k, where = take_k(asked, self._limits), take_conditions(body)
        points = await self._points(n_items, features)
        return JSONResponse(
            {"neighbours": await self._asked(lambda: self._served.nearest(points, k, where))}
        )

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(page(self._served, str(request.base_url).rstrip("/"), self._limits))

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(openapi(self._served, str(request.base_url).rstrip("/"), self._limits))

    async def _model(self, request: Request) -> Response:
        del request
        return JSONResponse(self._served.facts())

    async def _health(self, request: Request) -> Response:
        del request
        return JSONResponse({"status": "ok"})

    async def _text_of_metrics(self, request: Request) -> Response:
        del request
        return Response(self._metrics.text(), headers={"content-type": MEDIA_TYPE})

    async def _items(self, request: Request) -> tuple[int, Features, dict[str, Any]]:
        """Return the items of a request: how many, how they become features, and the rest of it."""
        kind, items = media_type(request), self._served.items
        if kind == JSON:
            body = parse_object(await read_body(request, self._limits))
            listed = take_list(body, "items", self._limits)
            return len(listed), self._read(listed), body
        if kind not in items.media_types:
            raise RefusedError(
                415, f"Use Content-Type: {', or '.join((JSON, *items.media_types))}."
            )
        content = await read_body(request, self._limits)
        try:
            n_items, features = items.parse(content)
        except MISTAKES as mistake:
            raise RefusedError(422, str(mistake)) from mistake
        check_n_items(n_items, self._limits, "The body")
        return n_items, features, {}

    def _read(self, listed: list[Any]) -> Features:
        try:
            return self._served.items.read(listed)
        except MISTAKES as mistake:
            raise RefusedError(422, str(mistake)) from mistake

    async def _points(self, n_items: int, features: Features) -> Points:
        try:
            return await self._batcher.embed(n_items, features)
        except MISTAKES as mistake:
            raise RefusedError(422, str(mistake)) from mistake
        except OverloadedError:
            sentence = (
                f"More than {self._limits.waiting:,} items are already waiting: try again later."
            )
            raise RefusedError(503, sentence, {"retry-after": "1"}) from None

    async def _asked(self, work: Callable[[], Any]) -> Any:
        try:
            return await self._batcher.run(work)
        except MISTAKES as mistake:
            raise RefusedError(422, str(mistake)) from mistake


async def _refused(request: Request, refused: Exception) -> Response:
    del request
    assert isinstance(refused, RefusedError)
    return JSONResponse(
        {"error": refused.sentence}, status_code=refused.status, headers=refused.headers
    )


async def _no_such(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = (
        f"{request.method} is not supported for this path: see /openapi.json."
        if error.status_code == 405
        else "There is no such path here: see /openapi.json."
    )
    return JSONResponse({"error": sentence}, status_code=error.status_code, headers=error.headers)


async def _ours(request: Request, error: Exception) -> Response:
    del request, error  # the server prints it
    return JSONResponse({"error": "Internal error; the server keeps running."}, status_code=500)
