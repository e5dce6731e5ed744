"""The page over HTTP: files, pictures, a map and one websocket; the rest is the session's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from twofold.ask._dropped import dropped_features
from twofold.ask._handing_out import Visitor
from twofold.ask._messages import MOST_NEIGHBOURS, reply_to
from twofold.ask._pictures import SIDES, Pictures
from twofold.ask._session import Reply, Session

PAGE = files("twofold.ask") / "page"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
MOST_PAGES = 32
"""Websockets that may be open at once."""
MOST_UNSENT = 256
"""Messages that wait for a page that does not read: then it is left."""
MOST_MISTAKES = 20
"""Messages of a page that make no sense: then it is left."""
LARGEST_DROP = 20 * 2**20
"""Bytes of a picture that is dropped on the page."""
MOST_ROWS = 400
A_DAY = "private, max-age=86400"


class Site:
    """The routes of the page."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pictures = Pictures(session.items)
        self._one_thread = ThreadPoolExecutor(1, "ask-pictures")
        self._n_pages = 0

    def app(self) -> Starlette:
        """Return the application, not yet guarded."""
        return Starlette(
            routes=[
                Route("/", self._index),
                Route("/page/{name}", self._file),
                Route("/image/{item:int}", self._image),
                Route("/items", self._items),
                Route("/map", self._map),
                Route("/drop", self._drop, methods=["POST"]),
                WebSocketRoute("/live", self._live),
            ]
        )

    def close(self) -> None:
        """End the thread."""
        self._one_thread.shutdown(cancel_futures=True)

    async def _index(self, request: Request) -> Response:
        del request
        return _page_file("index.html")

    async def _file(self, request: Request) -> Response:
        return _page_file(request.path_params["name"])

    async def _image(self, request: Request) -> Response:
        item, side = request.path_params["item"], request.query_params.get("side", "")
        if not 0 <= item < self._session.items.n_items:
            return _sorry(404, f"There is no item {str(item)[:20]}.")
        wanted = int(side) if side.isascii() and side.isdigit() and len(side) < 6 else SIDES[1]
        picture = await self._in_thread(lambda: self._pictures.get(item, wanted))
        headers = {"cache-control": A_DAY}
        return Response(picture.content, media_type=picture.media_type, headers=headers)

    async def _items(self, request: Request) -> Response:
        try:
            rows = [int(one) for one in request.query_params.get("rows", "").split(",")[:MOST_ROWS]]
        except ValueError:
            return _sorry(400, "rows must be a list of item numbers, separated by commas.")
        wrong = next((row for row in rows if not 0 <= row < self._session.items.n_items), None)
        if wrong is not None:
            return _sorry(404, f"There is no item {str(wrong)[:20]}.")
        return JSONResponse(self._session.describe(rows))

    async def _map(self, request: Request) -> Response:
        del request
        version = {"x-version": str(self._session.model.map_version)}
        return Response(
            self._session.model.map_places, media_type="application/octet-stream", headers=version
        )

    async def _drop(self, request: Request) -> Response:
        k = request.query_params.get("k", "24")
        if not k.isascii() or not k.isdigit() or not 1 <= int(k[:9]) <= MOST_NEIGHBOURS:
            return _sorry(400, f"k must be a whole number from 1 to {MOST_NEIGHBOURS}.")
        content = bytearray()
        try:
            async for chunk in request.stream():
                content += chunk
                if len(content) > LARGEST_DROP:
                    return _sorry(413, f"A picture may have at most {LARGEST_DROP // 2**20} MB.")
        except ClientDisconnect:
            return Response(status_code=400)
        try:
            features = await self._in_thread(
                lambda: dropped_features(self._session.items, bytes(content))
            )
            return JSONResponse(self._session.neighbours_of_row(features, int(k)))
        except ValueError as error:
            return _sorry(422, str(error))

    async def _live(self, websocket: WebSocket) -> None:
        if self._n_pages >= MOST_PAGES:
            await websocket.close(1013, "Too many pages are open.")
            return
        self._n_pages += 1
        await websocket.accept()
        unsent: asyncio.Queue[Reply | None] = asyncio.Queue()
        visitor = self._session.join(_teller(unsent))
        sender = asyncio.create_task(_send_all(websocket, unsent))
        try:
            if not await self._listen(websocket, visitor, sender):
                unsent.put_nowait(None)  # after what it has still to be told
                await sender
                await websocket.close(1008)
        finally:
            self._session.leave(visitor)
            self._n_pages -= 1
            sender.cancel()

    async def _listen(
        self, websocket: WebSocket, visitor: Visitor, sender: asyncio.Task[None]
    ) -> bool:
        """Answer the messages of a page until it goes; False if it is to be left."""
        n_mistakes = 0
        while n_mistakes < MOST_MISTAKES and not sender.done():
            try:
                text = await websocket.receive_text()
            except WebSocketDisconnect:
                return True
            except KeyError:  # bytes, which no page of ours sends
                return False
            for reply in reply_to(self._session, visitor, text):
                n_mistakes += reply["type"] == "refused"
                visitor.tell(reply)
        return False

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        """Run something long beside: decoding pictures, one at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._one_thread, work)


def _teller(unsent: asyncio.Queue[Reply | None]) -> Callable[[Reply], None]:
    def tell(reply: Reply) -> None:
        # A page that does not read is left: its answers are safe, and it asks again.
        unsent.put_nowait(reply if unsent.qsize() < MOST_UNSENT else None)

    return tell


async def _send_all(websocket: WebSocket, unsent: asyncio.Queue[Reply | None]) -> None:
    """Send replies in their order, until one is None."""
    while (reply := await unsent.get()) is not None:
        try:
            await websocket.send_text(json.dumps(reply, allow_nan=False))
        except (WebSocketDisconnect, RuntimeError):
            return


def _page_file(name: str) -> Response:
    """Return a file of the page: only those that ship with it."""
    there = {file.name: file for file in PAGE.iterdir() if file.is_file()}
    if name not in there:
        return _sorry(404, "There is no such page.")
    suffix = name[name.rfind(".") :]
    content = there[name].read_bytes()
    return Response(content, media_type=MEDIA_TYPES.get(suffix, "application/octet-stream"))


def _sorry(status: int, sentence: str) -> Response:
    return JSONResponse({"sentence": sentence}, status_code=status)
