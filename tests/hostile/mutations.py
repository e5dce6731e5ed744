"""Files made wrong: by bytes, by words, and behind the checksums of what is packed."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable, Sequence

Mutation = Callable[[bytes, random.Random], bytes]

WORDS = (
    b"nan", b"inf", b"-inf", b"NaN", b"Infinity", b"1e999", b"-1e999", b"1e-400", b"1e38", b"4e38",
    b"-0", b"0", b"1", b"-1", b"2", b"0.5", b"1.0", b"007", b"2147483647", b"2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
    b"", b" ", b"  a ", b"\t", b",", b",,", b";", b"\n", b"\r\n", b"\r", b"\n\n", b'"', b'""', b"'",
    b"\\", b"\x00", b"\xff", b"\xe9", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80",
    b"left", b"right", b"similar", b"weight", b"id", b"left,left", b"null", b"NA", b"true", b"None",
    b"{", b"}", b"[", b"]", b"[[[[", b":", b"()", b"(1,)", b"(-1, 2)", b"(2, 2147483648)", b"True",
    b"'<f8'", b"'<f4'", b"'|O'", b"'<i8'", b"'>f8'", b"'<c16'", b"'|V0'", b"'<U4'", b"'|S0'",
    b"[('a', '<f8')]", b"descr", b"shape", b"fortran_order", b"format", b"data", b"indices",
    b"indptr", b"row", b"col", b"<script>", b"../", b"/etc/passwd",
)  # fmt: skip
NUMBERS = (0, 1, 2, 7, 8, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)
LONGEST = 2**16


def mutate(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a file that is wrong in one to four places; `others` are spliced into it."""
    if content[:2] == b"PK" and rng.random() < 0.8:
        return _within_zip(content, others, rng)
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.8:
        return gzip.compress(_changed(_unpacked(content), others, rng), 1, mtime=0)
    return _changed(content, others, rng)


def _changed(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _body(content)
    if start < end and rng.random() < 0.5:
        return content[:start] + _same_length(content[start:end], rng) + content[end:]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        if others and rng.random() < 0.05:
            other = rng.choice(others)
            content = content[: _place(content, rng)] + other[_place(other, rng) :]
        else:
            content = rng.choice(MUTATIONS)(content, rng)
    return content[:LONGEST]


def _body(content: bytes) -> tuple[int, int]:
    """Return where the values of a NumPy or Parquet file lie, behind and before what names them."""
    if content[:6] == b"\x93NUMPY" and len(content) > 10:
        return 10 + int.from_bytes(content[8:10], "little"), len(content)
    if content[:4] == content[-4:] == b"PAR1":
        return 4, len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return 0, 0


def _same_length(content: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4))):
        change = rng.choice((_flip_bit, _overwrite, _overwrite_number, _overwrite_number))
        content = change(content, rng)[: len(content)]
    return content


def _within_zip(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change one member, and write the archive anew: its checksums are right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError):
        return _changed(content, others, rng)
    place = rng.randrange(len(members)) if members else None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_STORED, 8))) as archive:
        for number, (name, inner) in enumerate(members):
            if number == place:
                kind = rng.random()
                if kind < 0.05:
                    continue
                name = "x.npy" if kind < 0.1 else name
                inner = inner if kind < 0.1 else _changed(inner, others, rng)
            info = zipfile.ZipInfo(name or "x", (1980, 1, 1, 0, 0, 0))
            info.compress_type = archive.compression
            archive.writestr(info, inner)
    return packed.getvalue()


def _unpacked(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError):
        return content


def _place(content: bytes, rng: random.Random) -> int:
    return rng.randrange(len(content) + 1)


def _flip_bit(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return b"\x01"
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 2, 4, 8))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _overwrite_number(content: bytes, rng: random.Random) -> bytes:
    size = rng.choice((1, 2, 4, 8))
    sign = rng.choice((1, 1, -1))
    number = (sign * rng.choice(NUMBERS)) % (1 << (8 * size))
    at = _place(content, rng)
    order = rng.choice(("little", "big"))
    return content[:at] + number.to_bytes(size, order) + content[at + size :]


def _cut_off(content: bytes, rng: random.Random) -> bytes:
    return content[: _place(content, rng)]


def _take_out(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    return content[:at] + content[at + rng.choice((1, 2, 4, 8, 32)) :]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    some = content[at : at + rng.choice((1, 4, 16, 64))]
    return content[:at] + some * rng.choice((2, 3, 50)) + content[at:]


def _put_word(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    return content[:at] + rng.choice(WORDS) + content[at:]


def _replace_field(content: bytes, rng: random.Random) -> bytes:
    """Replace what stands between two separators, in a text or in a header."""
    marks = [k for k, byte in enumerate(content[:LONGEST]) if byte in b",\n\t:{}[]()' "]
    if len(marks) < 2:
        return _put_word(content, rng)
    number = rng.randrange(len(marks) - 1)
    return content[: marks[number] + 1] + rng.choice(WORDS) + content[marks[number + 1] :]


def _swap_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    _flip_bit,
    _overwrite,
    _overwrite_number,
    _overwrite_number,
    _cut_off,
    _take_out,
    _repeat,
    _put_word,
    _replace_field,
    _replace_field,
    _replace_field,
    _swap_lines,
)
