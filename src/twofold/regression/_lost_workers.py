"""A process that trained with others and is gone: what the others say of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch

LONGEST_WAIT = timedelta(hours=1)
"""For a process that neither answers nor dies, such as one that computes what is done once."""
LOST = (
    "Another process of this training died, ended, or did not answer for an hour, and without it "
    "none can go on"
)


class LostWorkerError(RuntimeError):
    """Another process of this training is gone, so that it cannot go on."""


@contextmanager
def losses_said() -> Iterator[None]:
    """Turn what a broken connection raises into a sentence."""
    try:
        yield
    except torch.distributed.DistError as error:
        raise LostWorkerError(LOST + ".") from error
    except RuntimeError as error:
        if "gloo" not in str(error).lower():  # whose errors have no class of their own
            raise
        raise LostWorkerError(LOST + ".") from error


@contextmanager
def way_out_said(checkpoint: Path | None) -> Iterator[None]:
    """Say where a training is kept if it ends inside because another process died.

    torchrun notices the death as well and ends all others by SIGTERM, usually a moment later.
    """
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    after = signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, _end)
    try:
        yield
    except LostWorkerError as error:
        after = signal.SIG_IGN  # so that there is time to say it; torchrun waits half a minute
        raise LostWorkerError(LOST + _way_out(checkpoint)) from error.__cause__
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, after)


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise LostWorkerError(LOST + ".")


def _way_out(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return (
            ": start again. Network(checkpoint=...) keeps a training, so that it can go on from "
            "where it was."
        )
    return (
        f". What was trained is kept in {checkpoint}: start the same again, with as many processes "
        "or with one, to go on from there."
    )
