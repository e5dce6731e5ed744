"""Similarities of spelling: words that nearly agree, and whole texts as sequences of letters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from twofold.matching._set_similarities import WeightedSets
from twofold.matching._texts import Texts

SPELLING_NAMES = ("soft left in right", "soft right in left", "edit", "prefix", "equal")
LONGEST = 128
"""Letters of a text that are compared one by one: the cost grows with their square."""
PREFIX_WEIGHT = 0.1
"""Winkler's, for each of the first four letters that agree."""


def compare_spelling(
    left: Texts,
    left_words: WeightedSets,
    right: Texts,
    right_words: WeightedSets,
    pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the similarities `SPELLING_NAMES` of pairs of rows; NaN if a text is empty."""
    similarities: NDArray[np.float64] = _compare(
        left.letters, left.starts,
        left.word_starts[left.words.first], left.word_ends[left.words.first],
        left_words.starts, left_words.codes, left_words.idf,
        right.letters, right.starts,
        right.word_starts[right.words.first], right.word_ends[right.words.first],
        right_words.starts, right_words.codes, right_words.idf, pairs,
    )  # fmt: skip
    return similarities


@njit(cache=True, nogil=True)
def _compare(
    left: Any,
    left_texts: Any,
    left_at: Any,
    left_end: Any,
    left_starts: Any,
    left_codes: Any,
    left_idf: Any,
    right: Any,
    right_texts: Any,
    right_at: Any,
    right_end: Any,
    right_starts: Any,
    right_codes: Any,
    right_idf: Any,
    pairs: Any,
) -> Any:
    out = np.full((len(pairs), 5), np.nan)
    for row in range(len(pairs)):
        first, second = pairs[row]
        i, i_end = left_starts[first], left_starts[first + 1]
        j, j_end = right_starts[second], right_starts[second + 1]
        if i == i_end or j == j_end:
            continue
        out[row, 0] = _soft(
            left, left_at[i:i_end], left_end[i:i_end], left_codes[i:i_end], left_idf[i:i_end],
            right, right_at[j:j_end], right_end[j:j_end], right_codes[j:j_end],
        )  # fmt: skip
        out[row, 1] = _soft(
            right, right_at[j:j_end], right_end[j:j_end], right_codes[j:j_end], right_idf[j:j_end],
            left, left_at[i:i_end], left_end[i:i_end], left_codes[i:i_end],
        )  # fmt: skip
        one = left[left_texts[first] + 1 : left_texts[first + 1] - 1]
        other = right[right_texts[second] + 1 : right_texts[second + 1] - 1]
        out[row, 2] = edit_similarity(one[:LONGEST], other[:LONGEST])
        n_common = 0
        while n_common < min(len(one), len(other)) and one[n_common] == other[n_common]:
            n_common += 1
        out[row, 3] = n_common / min(len(one), len(other))
        out[row, 4] = len(one) == len(other) == n_common
    return out


@njit(cache=True, nogil=True)
def _soft(
    letters: Any,
    at: Any,
    end: Any,
    codes: Any,
    idf: Any,
    other_letters: Any,
    other_at: Any,
    other_end: Any,
    other_codes: Any,
) -> Any:
    """Return the mean over words, by idf, of their best Jaro-Winkler similarity to the others."""
    total = best_total = 0.0
    for word in range(len(codes)):
        best = 0.0
        for other in range(len(other_codes)):
            if codes[word] == other_codes[other]:
                best = 1.0
                break
            similarity = jaro_winkler(
                letters[at[word] : end[word]], other_letters[other_at[other] : other_end[other]]
            )
            best = max(best, similarity)
        total += idf[word]
        best_total += idf[word] * best
    return best_total / total


@njit(cache=True, nogil=True)
def jaro_winkler(one: Any, other: Any) -> Any:
    """Return the Jaro-Winkler similarity of two words, of which 64 letters are read."""
    n_one, n_other = min(len(one), 64), min(len(other), 64)
    reach = max(0, max(n_one, n_other) // 2 - 1)
    taken_one = np.uint64(0)
    taken = np.uint64(0)
    n_common = 0
    for at in range(n_one):
        for there in range(max(0, at - reach), min(n_other, at + reach + 1)):
            bit = np.uint64(1) << np.uint64(there)
            if not taken & bit and one[at] == other[there]:
                taken |= bit
                taken_one |= np.uint64(1) << np.uint64(at)
                n_common += 1
                break
    if n_common == 0:
        return 0.0
    n_moved, there = 0, 0
    for at in range(n_one):
        if taken_one & (np.uint64(1) << np.uint64(at)):
            while not taken & (np.uint64(1) << np.uint64(there)):
                there += 1
            n_moved += one[at] != other[there]
            there += 1
    jaro = (n_common / n_one + n_common / n_other + (n_common - n_moved // 2) / n_common) / 3
    n_prefix = 0
    while n_prefix < min(4, n_one, n_other) and one[n_prefix] == other[n_prefix]:
        n_prefix += 1
    return jaro + PREFIX_WEIGHT * n_prefix * (1 - jaro)


@njit(cache=True, nogil=True)
def edit_similarity(one: Any, other: Any) -> Any:
    """Return 1 − Levenshtein's distance / length of the longer sequence."""
    before = np.arange(len(other) + 1)
    after = np.empty_like(before)
    for i in range(len(one)):
        after[0] = i + 1
        for j in range(len(other)):
            changed = before[j] + (one[i] != other[j])
            after[j + 1] = min(changed, before[j + 1] + 1, after[j] + 1)
        before, after = after, before
    return 1 - before[len(other)] / max(len(one), len(other), 1)
