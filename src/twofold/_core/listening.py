"""Where a server listens: a free port; and how it ends: by a signal."""

from __future__ import annotations

import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

N_PORTS = 50
"""That are tried by default, from the one that was asked for on."""


class QuietServer(uvicorn.Server):
    """A server that leaves signals to us: uvicorn would raise them once more after its end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def listen(host: str, port: int, n_ports: int = N_PORTS) -> socket.socket:
    """Return a socket that listens, at the first of `n_ports` ports from `port` on that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + n_ports, 65536) - 1
    for number in range(port, last + 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise OSError(
                    f"The server cannot listen at {host}, port {number} "
                    f"({error.strerror or error}): choose another --host or --port."
                ) from error
    if last == port:
        raise OSError(
            f"Port {port} is in use: stop what listens there, or choose another with --port."
        )
    raise OSError(f"All ports from {port} to {last} are in use: choose another with --port.")


@contextmanager
def ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Have Ctrl-C, or a polite kill, end a server; nothing is interrupted on the way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
