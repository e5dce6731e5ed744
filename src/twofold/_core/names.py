"""An unknown name, and the known one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from twofold._core.reasons import on_one_line

SHOWN_NAMES = 12
SHOWN_CHARACTERS = 60


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is spelt most nearly alike, capitals aside; None if none is."""
    by_small_letters = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), by_small_letters, n=1)
    return by_small_letters[close[0]] if close else None


def shown_names(names: list[str]) -> str:
    """Return names as they stand in a sentence, the first dozen of many."""
    there = ", ".join(on_one_line(name, SHOWN_CHARACTERS) for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{there} and {more} more" if more > 0 else there
