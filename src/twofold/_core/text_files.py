"""Texts and JSON from strangers: whatever is wrong is one sentence with file and line."""

from __future__ import annotations

import codecs
import json
import math
from pathlib import Path
from typing import Any, NoReturn

CHUNK_BYTES = 2**20
LARGEST_JSON = 2**28
"""Bytes; a record or a model's card has some thousand."""


def read_utf8(path: Path) -> str:
    """Return a text file's content, which must be UTF-8."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse_encoding(path, error, content[: error.start].count(b"\n") + 1)


def refuse_not_utf8(path: Path) -> None:
    """Refuse a text in another encoding, or with bytes that are in none; a part at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as opened:
        while True:
            chunk = opened.read(CHUNK_BYTES)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                _refuse_encoding(path, error, line + error.object[: error.start].count(b"\n"))
            if not chunk:
                return
            line += chunk.count(b"\n")


def read_json(path: Path, way_out: str = "get it again") -> Any:
    """Return what a JSON file holds: UTF-8, finite numbers, and not nested without end.

    `way_out` ends the sentence on a file that is wrong.
    """
    if path.stat().st_size > LARGEST_JSON:
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes, and {LARGEST_JSON:,} are the most that "
            "are read: it is none of ours."
        )
    return parse_json(read_utf8(path), str(path), way_out)


def parse_json(text: str, name: str, way_out: str) -> Any:
    """Return what a JSON text holds; `name` is what it is called where it is wrong."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite_float)
    except RecursionError:
        raise ValueError(f"{name} cannot be read (nested too deeply): {way_out}.") from None
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{name} cannot be read ({reason}): {way_out}.") from error


def _refuse_encoding(path: Path, error: UnicodeDecodeError, line: int) -> NoReturn:
    raise ValueError(
        f"{path} is not UTF-8, first at line {line} (byte 0x{error.object[error.start]:02x}): save "
        'it as UTF-8. From Excel that is "CSV UTF-8"; on a command line `iconv -f latin1 -t utf8`.'
    ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is no number")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {digits[:20]}, which is no finite number")
    return number
