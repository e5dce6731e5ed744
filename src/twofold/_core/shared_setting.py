"""Settings of the process that several threads change at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class SharedSetting:
    """A setting that holds inside of all its `with` blocks.

    The first thread to come in changes it, the last to leave gives back what was there before: one
    after another, as each alone would do it, the last would give back what the first had set.

    Parameters
    ----------
    change : callable () -> callable ()
        Changes the setting and returns what gives it back.
    """

    def __init__(self, change: Callable[[], Callable[[], object]]) -> None:
        self._change = change
        self._give_back: Callable[[], object] = lambda: None
        self._n_inside = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._give_back = self._change()
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._give_back()
