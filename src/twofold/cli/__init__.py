"""The command `twofold`: parse, one call, print."""

from twofold.cli._app import app, main

__all__ = ["app", "main"]
