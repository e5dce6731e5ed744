"""Another library's message about a file, shortened to fit into a sentence of ours."""

from __future__ import annotations

LONGEST = 160
"""Characters of it: libraries quote whole files."""


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, or its name if it says nothing; never very long."""
    said = f"no {error}" if isinstance(error, KeyError) else str(error)
    line = (said.strip() or type(error).__name__).splitlines()[0]
    return on_one_line(line, LONGEST).rstrip(".: ")


def on_one_line(text: str, longest: int) -> str:
    """Return text without what moves a cursor, and no longer than it may be."""
    printable = "".join(c if c.isprintable() else "?" for c in text[: longest + 1])
    return printable if len(printable) <= longest else f"{printable[:longest]}…"
