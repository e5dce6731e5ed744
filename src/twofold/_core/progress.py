"""Progress as lines of the logger "twofold"."""

from __future__ import annotations

import logging
import time

from twofold._core.processes import process_place

LOGGER = logging.getLogger("twofold")
SECONDS_BETWEEN_LINES = 1.0


class Reporter:
    """Writes lines to the logger, at most one per second; none unless it is verbose."""

    def __init__(self, verbose: bool) -> None:
        # Of processes that train together the first speaks.
        self._verbose = verbose and process_place().is_first
        self._next_line = 0.0
        if self._verbose:
            _make_heard()

    def __call__(self, line: str) -> None:
        """Write a line, unless one was written a moment ago."""
        now = time.monotonic()
        if self._verbose and now >= self._next_line:
            LOGGER.info(line)
            self._next_line = now + SECONDS_BETWEEN_LINES

    def always(self, line: str) -> None:
        """Write a line, however soon after the last."""
        if self._verbose:
            LOGGER.info(line)


def _make_heard() -> None:
    """Have the library's lines shown where the user has set up no logging."""
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(logging.StreamHandler())
    if LOGGER.getEffectiveLevel() > logging.INFO:
        LOGGER.setLevel(logging.INFO)
