"""What tells of progress: lines of the logger "twofold", and the user's callback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from twofold._core.files import check_place
from twofold._core.random import RandomState
from twofold.regression import Epoch, Network, as_network, is_network

LOGGER = logging.getLogger("twofold")
SECONDS_BETWEEN_LINES = 1.0


class Reporter:
    """Writes lines to the logger, at most one a second; none unless it is verbose."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._next_line = 0.0
        if verbose:
            _make_heard()

    def __call__(self, line: str) -> None:
        """Write a line, unless one was written a moment ago."""
        now = time.monotonic()
        if self._verbose and now >= self._next_line:
            LOGGER.info(line)
            self._next_line = now + SECONDS_BETWEEN_LINES

    def on_targets(self, epoch: int, loss: float) -> None:
        """Tell of an epoch of phase 1."""
        self(f"targets: epoch {epoch}, loss {loss:.4g}")

    def on_epoch(self, epoch: Epoch) -> None:
        """Tell of an epoch of phase 2, however soon after the last."""
        if not self._verbose:
            return
        loss = epoch.validation_loss
        validation = "" if loss is None else f", validation {loss:.4f}"
        LOGGER.info(
            "epoch %d/%d: loss %.4f%s, %.1f s",
            epoch.number,
            epoch.n_epochs,
            epoch.loss,
            validation,
            epoch.seconds,
        )


def epoch_callback(reporter: Reporter, embedder: Any) -> Callable[[Epoch], Any]:
    """Return what is called after every epoch: the reporter, then the user's own callback."""
    callback = as_network(embedder).callback if is_network(embedder) else None
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {callback!r}.")

    def report(epoch: Epoch) -> Any:
        reporter.on_epoch(epoch)
        return None if callback is None else callback(epoch)

    return report


def checkpoint_path(embedder: Any, random_state: RandomState) -> Path | None:
    """Return the file that a network's training is kept in, if one is named."""
    network = as_network(embedder) if is_network(embedder) else Network()
    if network.checkpoint is None:
        return None
    if not isinstance(random_state, int | np.integer):
        raise ValueError(
            f"checkpoint needs random_state to be a number, got {random_state!r}: only what is "
            "drawn the same again can be gone on with."
        )
    return check_place(network.checkpoint)


def _make_heard() -> None:
    """Have the library's lines shown where the user has set up no logging."""
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(logging.StreamHandler())
    if LOGGER.getEffectiveLevel() > logging.INFO:
        LOGGER.setLevel(logging.INFO)
