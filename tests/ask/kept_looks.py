"""Looks as a store would have kept them."""

from __future__ import annotations

from twofold.ask._store import KeptLook, Look


def kept(number, items=(0, 1), same=(True,), who="Anna", kind="pair", purpose="learn"):
    """Return a look, by default one at which Anna called the items 0 and 1 the same."""
    return KeptLook(number, Look(f"k{number}", who, kind, items, same, purpose), "2026-01-01")
