"""`twofold ask`: a project, a worker and a server on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twofold._core.own_names import link_to
from twofold.ask._items import Items, read_ask_items
from twofold.ask._learning import LearningProcess, Message
from twofold.ask._project import Project, prepare_folder, project_folder
from twofold.ask._request import AskRequest
from twofold.ask._session import Session
from twofold.ask._worker import Setup
from twofold.regression import save_features

PORT = 8737
"""The port that is tried first."""
LARGEST_MESSAGE = 2**16
"""Bytes of a websocket's message."""
MOST_CONNECTIONS = 256
GRACE = 2
"""Seconds that open connections have when the server ends."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A page that can be opened.

    Attributes
    ----------
    link : str
        With its token.
    project : Path
        Where the answers are.
    n_items : int
        That are asked about.
    n_looks : int
        Answered in earlier sessions.
    notes : tuple of str
        What the user should know about the files.
    """

    link: str
    project: Path
    n_items: int
    n_looks: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """An evening that is over.

    Attributes
    ----------
    project : Path
        Where the answers are.
    n_looks : int
        That stand.
    model : Path or None
        The latest model; None if there were too few answers for one.
    """

    project: Path
    n_looks: int
    model: Path | None


def ask(
    request: AskRequest,
    *,
    project: Path | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    on_open: Callable[[Opened], Any] | None = None,
    progress: Callable[[str, float], Any] | None = None,
) -> Closed:
    """Serve the page until the process is interrupted; answers and the latest model are kept.

    Parameters
    ----------
    request : AskRequest
        What is asked about.
    project : path, optional
        The folder of answers; by default beside the data.
    host, port
        To listen at; a port that is in use is passed over for the next.
    on_open : callable (Opened), optional
        Called when the page can be opened.
    progress : callable (what, share), optional
        Called as the data are read.
    """
    _require_server()
    from twofold._core.listening import listen

    told = progress or (lambda what, share: None)
    folder = project_folder(request.data, project)
    if folder.exists():
        prepare_folder(folder)  # its mistakes are said before the work
    told("reading", 0.0)
    items = read_ask_items(request)
    told("reading", 1.0)
    with ExitStack() as stack:
        opened = Project(folder, request, items)
        stack.callback(opened.close)
        listener = stack.enter_context(listen(host, port))
        n_looks = asyncio.run(_serve(_Evening(request, items, opened, host, listener), on_open))
        return Closed(folder, n_looks, opened.model if opened.model.is_dir() else None)


@dataclass(frozen=True, slots=True)
class _Evening:
    """What one run of the server needs."""

    request: AskRequest
    items: Items
    project: Project
    host: str
    listener: socket.socket

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def title(self) -> str:
        return " and ".join(table.path.resolve().name for table in self.items.tables)

    def opened(self, token: str, n_looks: int) -> Opened:
        """Return what a user is told."""
        n_gone = self.project.store.n_gone
        gone = f"{n_gone:,} answer(s) are about items that no longer exist; they are ignored."
        return Opened(
            f"{link_to(self.host, self.port)}/?token={token}",
            self.project.folder,
            self.items.n_items,
            n_looks,
            (*self.items.notes, gone) if n_gone else tuple(self.items.notes),
        )

    def setup(self) -> Setup:
        """Return what the worker is started with; its features are written down."""
        save_features(self.items.features, self.project.scratch)
        return Setup(
            scratch=self.project.scratch,
            model=self.project.model,
            n_left=self.items.n_left,
            source=self.items.source,
            preparation=self.items.preparation,
            image_column=self.items.image_column,
            seed=self.request.seed,
        )


async def _serve(evening: _Evening, on_open: Callable[[Opened], Any] | None) -> int:
    """Run worker and server side by side, until a signal ends them; return the looks."""
    import uvicorn

    from twofold._core.listening import QuietServer, ended_by_signals
    from twofold.ask._guard import Guard
    from twofold.ask._server import Site

    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    learning = LearningProcess(
        evening.setup(), lambda message: loop.call_soon_threadsafe(inbox.put_nowait, message)
    )
    try:
        session = Session(
            evening.title,
            evening.items,
            evening.project.store,
            learning.learn,
            learning.request,
            random_state=evening.request.seed,
        )
        site, token = Site(session), secrets.token_urlsafe(24)
        config = uvicorn.Config(
            Guard(site.app(), token, evening.host, evening.port),
            http="h11",  # httptools, where it is installed, does not end a head that never ends
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
            lifespan="off",
            log_level="error",
            server_header=False,
        )
        if on_open is not None:
            on_open(evening.opened(token, session.n_looks))
        server = QuietServer(config)
        taker = asyncio.create_task(_take_all(session, inbox, server))
        with ended_by_signals(server):
            await server.serve(sockets=[evening.listener])
        site.close()
        session.close()
        if taker.done():
            taker.result()  # it never ends but by an error, which is to be seen
        taker.cancel()
        return session.n_looks
    finally:
        await asyncio.to_thread(learning.stop)


async def _take_all(session: Session, inbox: asyncio.Queue[Message], server: Any) -> None:
    """Hand the session what the worker sends; an error of ours ends the server."""
    try:
        while True:
            session.take(await inbox.get())
    finally:
        server.should_exit = True


def _require_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise ImportError(f"twofold ask needs {error.name}: pip install 'twofold[ask]'.") from error
