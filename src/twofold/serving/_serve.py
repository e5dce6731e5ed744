"""`twofold serve`: a model behind HTTP, until the process is told to end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from twofold._core.own_names import link_to
from twofold.serving._request import ServeRequest
from twofold.serving._served import Served

MOST_CONNECTIONS = 1024
GRACE = 30
"""Seconds that requests have which are not answered when the server is to end."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A server that answers.

    Attributes
    ----------
    address : str
        Where.
    facts : dict
        Of the model.
    end : callable
        Has the server end as a signal does: what is in flight is answered first.
    """

    address: str
    facts: dict[str, Any]
    end: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Closed:
    """A server that has ended.

    Attributes
    ----------
    n_requests : int
        That were answered.
    """

    n_requests: int


def serve(request: ServeRequest, *, on_open: Callable[[Opened], Any] | None = None) -> Closed:
    """Serve a model until the process is interrupted; what is in flight is answered first.

    Parameters
    ----------
    request : ServeRequest
        What is served, and where.
    on_open : callable (Opened), optional
        Called when requests are answered.
    """
    _require_server()
    from twofold._core.listening import listen

    with listen(request.host, request.port, n_ports=1) as listener:
        served = Served.open(request)
        with _threads_beside_the_server():
            return asyncio.run(_serve(request, served, listener, on_open))


async def _serve(
    request: ServeRequest,
    served: Served,
    listener: socket.socket,
    on_open: Callable[[Opened], Any] | None,
) -> Closed:
    import uvicorn

    from twofold._core.listening import QuietServer, ended_by_signals
    from twofold.serving._batches import Batcher
    from twofold.serving._guard import Guard
    from twofold.serving._metrics import Metrics
    from twofold.serving._site import PATHS, Site

    limits, port = request.limits, int(listener.getsockname()[1])
    metrics = Metrics(PATHS, lambda: batcher.n_waiting)
    batcher = Batcher(served.embed, request.batching, limits.waiting, metrics.count_batch)
    try:
        site = Site(served, batcher, metrics, limits).app()
        config = uvicorn.Config(
            Guard(site, request.host, port, limits.rate, metrics),
            http="h11",  # httptools, where it is installed, does not end a head that never ends
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
            lifespan="off",
            log_level="error",
            server_header=False,
        )
        server = QuietServer(config)

        def end() -> None:
            server.should_exit = True

        if on_open is not None:
            on_open(Opened(link_to(request.host, port), served.facts(), end))
        with ended_by_signals(server):
            await server.serve(sockets=[listener])
    finally:
        await asyncio.to_thread(batcher.close)
    return Closed(metrics.n_answered)


@contextmanager
def _threads_beside_the_server() -> Iterator[None]:
    """Leave one processor to the thread that reads requests, if there are several."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(before, len(os.sched_getaffinity(0)) - 1)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _require_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"twofold serve needs {error.name}: pip install 'twofold[serve]'."
        ) from error
