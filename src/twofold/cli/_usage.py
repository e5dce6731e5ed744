"""Typer's errors about a command line, as one sentence each.

Versions of typer bring click along, or have it inside: what is raised is known by the one class
that all of them show.
"""

from __future__ import annotations

from typing import Any, cast

import typer

UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""An option, argument or command that is not there, is missing or has a wrong value."""


def usage_sentence(refused: Any) -> str:
    """Return what is wrong with a command line, and which help says what is right."""
    said = " ".join(refused.format_message().split()).rstrip(".").replace("Value error, ", "")
    if said.endswith("?"):  # it proposes what was meant
        return said
    context = refused.ctx
    command = "twofold" if context is None else context.command_path
    return f"{said}{_given(refused.__cause__)}; see `{command} --help`."


def _given(cause: Any) -> str:
    """Return the value that was given, where the message leaves it out."""
    if not hasattr(cause, "errors"):
        return ""
    details = cause.errors()[0]
    value = repr(details.get("input"))
    return "" if value in details.get("msg", "") else f", got {value}"
