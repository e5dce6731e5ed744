"""What another library said of a file, made fit to stand in a sentence of ours."""

from __future__ import annotations

LONGEST = 160
"""Characters of it: libraries quote whole files."""


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, or its name if it says nothing; never very long."""
    said = f"no {error}" if isinstance(error, KeyError) else str(error)
    line = (said.strip() or type(error).__name__).splitlines()[0]
    printable = "".join(c if c.isprintable() else "?" for c in line)
    cut = printable if len(printable) <= LONGEST else f"{printable[:LONGEST]}…"
    return cut.rstrip(".: ")
