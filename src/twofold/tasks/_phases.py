"""What a task is doing and how long each part of it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, float], Any]
"""Called with what is being done and the share of it that is."""


class Phases:
    """Seconds of each phase of a task, in their order; whoever waits is told of them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens inside; a phase that comes again adds to its seconds."""
        began = time.perf_counter()
        self.tell(name, 0.0)
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
        self.tell(name, 1.0)

    def tell(self, name: str, share: float) -> None:
        """Say how much of a phase is done."""
        if self._progress is not None:
            self._progress(name, share)
