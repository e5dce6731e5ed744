"""What a user asks `twofold serve` for, and how much one client may ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PORT = 8738


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a client may ask for.

    Attributes
    ----------
    body_bytes : int
        Of one request.
    items : int
        In one request.
    neighbours : int
        Of one item.
    waiting : int
        Items that may wait for their turn; more are sent away.
    rate : float or None
        Requests a second of one address, on average; None for any number.
    body_seconds : float
        That a request's body may take to arrive.
    """

    body_bytes: int = 16 * 2**20
    items: int = 4096
    neighbours: int = 1000
    waiting: int = 2**15
    rate: float | None = None
    body_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How requests are put together.

    Attributes
    ----------
    items : int
        That are embedded at a time, if as many wait.
    seconds : float
        That the first of a batch waits for others.
    """

    items: int = 256
    seconds: float = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """The options of `twofold serve`; see the command's help."""

    model: Path
    index: Path | None = None
    host: str = "127.0.0.1"
    port: int = PORT
    device: str = "auto"
    limits: Limits = field(default_factory=Limits)
    batching: Batching = field(default_factory=Batching)
