"""A column of texts as arrays: bytes, words, numbers in words and character 3-grams.

Text comes in as strings or None; what goes out are sorted sets of codes per record, which two
records' similarity is computed from by one merge. Codes do not depend on a vocabulary, so tables
that were never seen have them too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

WORD = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
FNV_OFFSET = np.uint64(14695981039346656037)
FNV_PRIME = np.uint64(1099511628211)
GRAM = 3
SPACE = ord(" ")


@dataclass(frozen=True, slots=True, eq=False)
class CodeSets:
    """A set of codes for every record, sorted.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_records + 1,)
        Where each record's codes begin.
    codes : ndarray of uint64
        What is in the sets; rising within a record.
    counts : ndarray of int32
        How often each stands in its record.
    first : ndarray of int64
        Which of the record's occurrences, numbered through all records, is the first.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.uint64]
    counts: NDArray[np.int32]
    first: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts of one column, cut into what is compared.

    Attributes
    ----------
    letters : ndarray of uint8
        The clean texts one after another: words in lower case with a space before and after each.
    starts : ndarray of int64, shape (n_records + 1,)
        Where each record's text begins.
    word_starts, word_ends : ndarray of int64
        Where each word begins and ends in `letters`.
    words, codes_with_digits, numbers, grams : CodeSets
        The words, those with a digit in them, the numbers that stand in words (the 3 of "cs3", by
        value), and character 3-grams with the spaces.
    """

    letters: NDArray[np.uint8]
    starts: NDArray[np.int64]
    word_starts: NDArray[np.int64]
    word_ends: NDArray[np.int64]
    words: CodeSets
    codes_with_digits: CodeSets
    numbers: CodeSets
    grams: CodeSets

    @property
    def n_records(self) -> int:
        return len(self.starts) - 1


def clean(text: str | None) -> str:
    """Return the words of a text in lower case, without accents, one space between them."""
    if not text:
        return ""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return " ".join(WORD.findall(text.lower()))


def cut_texts(values: Iterable[str | None]) -> Texts:
    """Clean texts, and cut them into words, numbers and 3-grams."""
    # A text is " word word ", so that grams know where words begin and end; an empty one is " ".
    encoded = [f" {text} ".encode() if text else b" " for text in map(clean, values)]
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in encoded])]).astype(np.int64)
    n_words = _count_words(letters, starts)
    bounds, codes, has_digit, word_records = _words(letters, starts, n_words)
    n_records = len(encoded)
    values_of, number_records = _numbers(letters, starts)
    grams, gram_records = _grams(letters, starts)
    return Texts(
        letters,
        starts,
        bounds[:, 0].copy(),
        bounds[:, 1].copy(),
        _sets(codes, word_records, n_records),
        _sets(codes[has_digit], word_records[has_digit], n_records),
        _sets(values_of.view(np.uint64), number_records, n_records),
        _sets(grams, gram_records, n_records),
    )


def _sets(codes: NDArray[np.uint64], records: NDArray[np.int64], n_records: int) -> CodeSets:
    """Return each record's codes sorted and once each."""
    order = np.lexsort((codes, records))
    codes, records = codes[order], records[order]
    is_new = np.ones(len(codes), dtype=bool)
    is_new[1:] = (codes[1:] != codes[:-1]) | (records[1:] != records[:-1])
    heads = np.flatnonzero(is_new)
    counts = np.diff(np.append(heads, len(codes))).astype(np.int32)
    starts = np.searchsorted(records[heads], np.arange(n_records + 1))
    return CodeSets(starts.astype(np.int64), codes[heads], counts, order[heads])


@njit(cache=True, nogil=True)
def _count_words(letters: Any, starts: Any) -> Any:
    n_words = 0
    for record in range(len(starts) - 1):
        for at in range(starts[record], starts[record + 1] - 1):
            n_words += letters[at] == SPACE and letters[at + 1] != SPACE
    return n_words


@njit(cache=True, nogil=True)
def _words(letters: Any, starts: Any, n_words: Any) -> Any:
    """Return bounds, FNV-1a codes, whether there is a digit, and the record of every word."""
    bounds = np.empty((n_words, 2), dtype=np.int64)
    codes = np.empty(n_words, dtype=np.uint64)
    has_digit = np.zeros(n_words, dtype=np.bool_)
    records = np.empty(n_words, dtype=np.int64)
    word = -1
    for record in range(len(starts) - 1):
        for at in range(starts[record], starts[record + 1]):
            letter = letters[at]
            if letter == SPACE:
                continue
            if letters[at - 1] == SPACE:
                word += 1
                bounds[word, 0] = at
                codes[word] = FNV_OFFSET
                records[word] = record
            codes[word] = (codes[word] ^ np.uint64(letter)) * FNV_PRIME
            has_digit[word] |= 48 <= letter <= 57
            bounds[word, 1] = at + 1
    return bounds, codes, has_digit, records


@njit(cache=True, nogil=True)
def _numbers(letters: Any, starts: Any) -> Any:
    """Return the value and record of every run of digits, with the decimals behind a point."""
    n_most = 0
    for letter in letters:
        n_most += 48 <= letter <= 57
    values = np.empty(n_most, dtype=np.float64)
    records = np.empty(n_most, dtype=np.int64)
    number = 0
    for record in range(len(starts) - 1):
        at, end = starts[record], starts[record + 1]
        while at < end:
            if not 48 <= letters[at] <= 57:
                at += 1
                continue
            value, scale = 0.0, 0.0
            while at < end and (48 <= letters[at] <= 57 or (letters[at] == 46 and scale == 0.0)):
                if letters[at] == 46:
                    scale = 1.0
                elif scale == 0.0:
                    value = 10.0 * value + (letters[at] - 48)
                else:
                    scale /= 10.0
                    value += scale * (letters[at] - 48)
                at += 1
            values[number] = value
            records[number] = record
            number += 1
    return values[:number], records[:number]


@njit(cache=True, nogil=True)
def _grams(letters: Any, starts: Any) -> Any:
    """Return the code and record of every three letters that follow one another."""
    n_grams = 0
    for record in range(len(starts) - 1):
        n_grams += max(0, starts[record + 1] - starts[record] - GRAM + 1)
    codes = np.empty(n_grams, dtype=np.uint64)
    records = np.empty(n_grams, dtype=np.int64)
    gram = 0
    for record in range(len(starts) - 1):
        for at in range(starts[record], starts[record + 1] - GRAM + 1):
            code = np.uint64(0)
            for letter in letters[at : at + GRAM]:
                code = (code << np.uint64(8)) | np.uint64(letter)
            codes[gram] = code
            records[gram] = record
            gram += 1
    return codes, records
