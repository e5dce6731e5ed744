"""Texts and JSON from strangers: whatever is wrong is one sentence with file and line."""

from __future__ import annotations

import codecs
import json
import math
from pathlib import Path
from typing import Any, NoReturn

CHUNK_BYTES = 2**20
NEVER_IN_TEXT = frozenset(range(32)) - frozenset(b"\t\n\f\r")
"""Bytes that stand for no letter in any encoding of a line of text: UTF-16 is full of zeros."""
NOT_IN_CP1252 = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
"""Windows' encoding leaves these bytes open; ISO's does not."""
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
LARGEST_JSON = 2**28
"""Bytes; a record or a model's card has some thousand."""


def read_utf8(path: Path) -> str:
    """Return a text file's content, which must be UTF-8."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse_encoding(path, error, content[: error.start].count(b"\n") + 1)


def encoding_of(path: Path) -> str:
    """Return the encoding of a text: UTF-8 if it is, else Windows' or ISO's of western Europe.

    What holds bytes that no such text has, as UTF-16 and files that are no text do, is refused.
    The file is read a part at a time.
    """
    wrong = _first_not_utf8(path)
    if wrong is None:
        return "utf-8"
    there = _bytes_of(path)
    if there & NEVER_IN_TEXT:
        _refuse_encoding(path, *wrong)
    return "latin-1" if there & NOT_IN_CP1252 else "cp1252"


def _first_not_utf8(path: Path) -> tuple[UnicodeDecodeError, int] | None:
    """Return the error over the first bytes that are not UTF-8, and their line."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as opened:
        while True:
            chunk = opened.read(CHUNK_BYTES)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                return error, line + error.object[: error.start].count(b"\n")
            if not chunk:
                return None
            line += chunk.count(b"\n")


def _bytes_of(path: Path) -> frozenset[int]:
    """Return which bytes occur in a file."""
    there: set[int] = set()
    with path.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            there.update(chunk)
    return frozenset(there)


def read_json(path: Path, way_out: str = "get it again") -> Any:
    """Return what a JSON file holds: UTF-8, finite numbers, and not nested without end.

    `way_out` ends the sentence on a file that is wrong.
    """
    if path.stat().st_size > LARGEST_JSON:
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes, and {LARGEST_JSON:,} is the limit: it was "
            "not written by Twofold."
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
    with path.open("rb") as opened:
        encoding = "utf16" if opened.read(2) in UTF16_MARKS else "latin1"
    raise ValueError(
        f"{path} is not UTF-8, first at line {line} (byte 0x{error.object[error.start]:02x}): save "
        f'it as UTF-8. In Excel choose "CSV UTF-8"; in a shell use `iconv -f {encoding} -t utf8`.'
    ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is not a number")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {digits[:20]}, which is not a finite number")
    return number
