"""Torch without importing its compiler where nothing is compiled.

Torch marks some of its methods as not to be compiled, and imports the compiler for that when they
are first called, with all of torch.distributed and sympy: 4 s of the first fit of a process on an
H200's machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def uncompiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method as it was before torch wrapped it; itself if it was not."""
    plain: Callable[..., Any] = getattr(method, "__wrapped__", method)
    return plain
