"""Names as a user gives them: unknown ones, several in one, and how they stand in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from twofold._core.reasons import on_one_line

SHOWN_NAMES = 12
SHOWN_CHARACTERS = 60


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is spelt most nearly alike, capitals aside; None if none is."""
    by_small_letters = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), by_small_letters, n=1)
    return by_small_letters[close[0]] if close else None


def separate_names(asked: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return names, each once: "a,b" is a and b, unless one that is known has that comma."""
    return tuple(dict.fromkeys(name for text in asked for name in _separated(text, known)))


def _separated(text: str, known: Collection[str]) -> list[str]:
    parts, names = text.split(","), []
    most_commas = max((name.count(",") for name in known), default=0)
    first = 0
    while first < len(parts):
        ends = range(min(len(parts), first + 1 + most_commas), first, -1)
        joined = {end: ",".join(parts[first:end]).strip() for end in ends}
        first = next((end for end, name in joined.items() if name in known), first + 1)
        names.append(joined[first])
    return [name for name in names if name] or [text]


def shown_names(names: list[str]) -> str:
    """Return names as they stand in a sentence, the first dozen of many."""
    there = ", ".join(on_one_line(name, SHOWN_CHARACTERS) for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{there} and {more} more" if more > 0 else there
