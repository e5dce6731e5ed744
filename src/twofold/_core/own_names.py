"""The names and addresses at which a server on this machine may be reached.

A page of another site can make its own name resolve to this machine, so a server only answers
requests for its own names.
"""

from __future__ import annotations

import socket
from typing import Any

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names by which nobody but this machine reaches a server."""


def own_hosts(host: str, port: int) -> frozenset[str]:
    """Return the headers `Host` that a server bound to `host` and `port` answers to."""
    return frozenset(_address(name, port) for name in (host, *_names(host)))


def link_to(host: str, port: int) -> str:
    """Return the address to open; of all of a machine's names the one that others know."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return f"http://{_address(name, port)}"


def _names(host: str) -> set[str]:
    """Return other names of the address that a server is bound to."""
    if host in LOOPBACK:
        return {*LOOPBACK}
    names = {*LOOPBACK, socket.gethostname(), socket.getfqdn()}
    if host in ("0.0.0.0", "::"):
        names |= _own_addresses()
    return names


def _own_addresses() -> set[str]:
    """Return the addresses of this machine."""
    try:
        found: list[Any] = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return set()
    return {str(one[4][0]) for one in found}


def _address(name: str, port: int) -> str:
    return f"[{name}]:{port}" if ":" in name else f"{name.lower()}:{port}"
