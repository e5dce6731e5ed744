"""The warnings Twofold gives of its own; a solver that stops early gives scikit-learn's."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PACKAGE = __name__.partition(".")[0]


class RelationWarning(UserWarning):
    """Something in a relation needs attention, such as contradictions or items without a label."""


class TargetWarning(UserWarning):
    """Targets are correct for the given parameters, but items that should differ share one."""


class SearchWarning(UserWarning):
    """An index cannot do what was asked of it."""


_GATHERED: ContextVar[list[str] | None] = ContextVar("gathered", default=None)
_UNSAID: ContextVar[tuple[type[Warning], ...]] = ContextVar("unsaid", default=())


@contextmanager
def unsaid(category: type[Warning]) -> Iterator[None]:
    """Keep back warnings of ours inside, in this thread; Python's own filters are the process's."""
    token = _UNSAID.set((*_UNSAID.get(), category))
    try:
        yield
    finally:
        _UNSAID.reset(token)


@contextmanager
def gathered() -> Iterator[list[str]]:
    """Give a list that gets what would be warned of inside, in this thread, each sentence once."""
    sentences: list[str] = []
    token = _GATHERED.set(sentences)
    try:
        yield sentences
    finally:
        _GATHERED.reset(token)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line: the nearest one outside this package."""
    if issubclass(category, _UNSAID.get()):
        return
    sentences = _GATHERED.get()
    if sentences is not None:
        if message not in sentences:
            sentences.append(message)
        return
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
