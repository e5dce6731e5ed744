"""Similarities by their definitions, a pair at a time."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

WORDS = ("visio", "2007", "pro", "mac", "cs3", "7.0", "upgrade", "café", "7", "x1")


def idf(texts: list[str]) -> dict[str, float]:
    """Return log((1 + n) / (1 + df)) + 1 of every word."""
    frequency = Counter(word for text in texts for word in set(text.split()))
    return {word: math.log((1 + len(texts)) / (1 + n)) + 1 for word, n in frequency.items()}


def set_similarities(left: str, right: str, rarity: dict[str, float]) -> list[float]:
    """Return what `SET_NAMES` names, of the words of two texts."""
    one, other = Counter(left.split()), Counter(right.split())
    if not one or not other:
        return [math.nan] * 10
    shared, left_only, right_only = one.keys() & other, one.keys() - other, other.keys() - one

    def total(words: set[str]) -> float:
        return sum(rarity[word] for word in words)

    def rarest(words: set[str]) -> float:
        return max((rarity[word] for word in words), default=0.0)

    def weight(counts: Counter[str], word: str) -> float:
        return rarity[word] * (1 + math.log(counts[word]))

    def norm(counts: Counter[str]) -> float:
        return math.sqrt(sum(weight(counts, word) ** 2 for word in counts))

    cosine = sum(weight(one, word) * weight(other, word) for word in shared)
    both = total(shared) + total(left_only) + total(right_only)
    return [
        cosine / norm(one) / norm(other),
        total(shared) / both,
        total(shared) / total(set(one)),
        total(shared) / total(set(other)),
        rarest(left_only),
        rarest(right_only),
        total(left_only),
        total(right_only),
        len(shared),
        rarest(shared),
    ]


def edit_distance(one: str, other: str) -> int:
    """Return Levenshtein's distance by its recursion."""

    @cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        changed = distance(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        return min(changed, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(one), len(other))


def jaro_winkler(one: str, other: str) -> float:
    """Return the similarity by its definition: letters in common within reach, then moves."""
    reach = max(0, max(len(one), len(other)) // 2 - 1)
    taken: list[int] = []
    matched = ""
    for at, letter in enumerate(one):
        free = [
            there
            for there in range(max(0, at - reach), min(len(other), at + reach + 1))
            if there not in taken and other[there] == letter
        ]
        if free:
            taken.append(free[0])
            matched += letter
    if not matched:
        return 0.0
    in_other = "".join(other[there] for there in sorted(taken))
    n_moved = sum(a != b for a, b in zip(matched, in_other, strict=True)) // 2
    n = len(matched)
    jaro = (n / len(one) + n / len(other) + (n - n_moved) / n) / 3
    prefix = 0
    while prefix < min(4, len(one), len(other)) and one[prefix] == other[prefix]:
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro)
