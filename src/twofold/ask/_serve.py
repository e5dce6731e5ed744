"""`twofold ask`: a project, a worker and a server on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twofold.ask._items import Items, read_ask_items
from twofold.ask._learning import LearningProcess, Message
from twofold.ask._project import Project, prepare_folder, project_folder
from twofold.ask._request import AskRequest
from twofold.ask._worker import Setup
from twofold.regression import save_features

PORT, N_PORTS = 8737, 50
"""The port that is tried first, and how many after it."""
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
        What is to be said of the files.
    """

    link: str
    project: Path
    n_items: int
    n_looks: int
    notes: tuple[str, ...]


def ask(
    request: AskRequest,
    *,
    project: Path | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    on_open: Callable[[Opened], Any] | None = None,
    progress: Callable[[str, float], Any] | None = None,
) -> None:
    """Serve the page until the process is interrupted.

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
        scratch = Path(tempfile.mkdtemp(prefix="twofold-ask-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        listener = stack.enter_context(_listen(host, port))
        asyncio.run(_serve(request, items, opened, scratch, listener, host, on_open))


async def _serve(
    request: AskRequest,
    items: Items,
    project: Project,
    scratch: Path,
    listener: socket.socket,
    host: str,
    on_open: Callable[[Opened], Any] | None,
) -> None:
    import uvicorn

    from twofold.ask._guard import Guard
    from twofold.ask._server import Site
    from twofold.ask._session import Session

    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    learning = LearningProcess(
        _setup(request, items, project, scratch),
        lambda message: loop.call_soon_threadsafe(inbox.put_nowait, message),
    )
    try:
        session = Session(
            _title(items),
            items,
            project.store,
            learning.learn,
            learning.request,
            random_state=request.seed,
        )
        taker = asyncio.create_task(_take_all(session, inbox))
        site, token, port = Site(session), secrets.token_urlsafe(24), listener.getsockname()[1]
        config = uvicorn.Config(
            Guard(site.app(), token, host, port),
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
            lifespan="off",
            log_level="error",
            server_header=False,
        )
        server = uvicorn.Server(config)
        if on_open is not None:
            name = host if host not in ("0.0.0.0", "::") else socket.gethostname()
            shown = f"[{name}]" if ":" in name else name
            link = f"http://{shown}:{port}/?token={token}"
            n_looks = session.n_looks
            notes = (*items.notes, *_gone(project))
            on_open(Opened(link, project.folder, items.n_items, n_looks, notes))
        await server.serve(sockets=[listener])
        taker.cancel()
        site.close()
        session.close()
    finally:
        await asyncio.to_thread(learning.stop)


async def _take_all(session: Any, inbox: asyncio.Queue[Message]) -> None:
    while True:
        session.take(await inbox.get())


def _setup(request: AskRequest, items: Items, project: Project, scratch: Path) -> Setup:
    features = scratch / "features"
    features.mkdir()
    save_features(items.features, features)
    return Setup(
        features=features,
        scratch=scratch,
        model=project.model,
        n_left=items.n_left,
        source=items.source,
        preparation=items.preparation,
        image_column=items.image_column,
        seed=request.seed,
    )


def _title(items: Items) -> str:
    return " and ".join(table.path.resolve().name for table in items.tables)


def _gone(project: Project) -> tuple[str, ...]:
    n_gone = project.store.n_gone
    if not n_gone:
        return ()
    return (f"{n_gone:,} answer(s) are about items that are no longer there; they are set aside.",)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, at the first port from `port` on that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in range(port, min(port + N_PORTS, 65536)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except socket.gaierror as error:
            listener.close()
            raise OSError(f"--host {host} is no address of this machine ({error}).") from error
        except PermissionError:
            listener.close()
            raise
        except OSError as error:
            listener.close()
            if error.errno is not None and "in use" not in str(error):
                raise OSError(f"{host} port {number} cannot be listened at ({error}).") from error
    raise OSError(f"All ports from {port} to {port + N_PORTS - 1} are in use: name another.")


def _require_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise ImportError(f"twofold ask needs {error.name}: pip install 'twofold[ask]'.") from error
