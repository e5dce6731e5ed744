"""Similarities of texts and numbers, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from slow_similarities import (
    WORDS,
    edit_distance,
    idf,
    jaro_winkler,
    set_similarities,
)

from twofold.matching import _spelling
from twofold.matching._competition import compete
from twofold.matching._neighbours import Neighbours, nearest_records
from twofold.matching._pair_features import compare_numbers
from twofold.matching._set_similarities import WeightedSets, compare_sets, fit_rarity, weigh
from twofold.matching._texts import clean, cut_texts


def _random_texts(n_texts: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(0, 6))) for _ in range(n_texts)]


def _all_pairs(n_left: int, n_right: int) -> np.ndarray:
    return np.stack(np.meshgrid(range(n_left), range(n_right)), axis=-1).reshape(-1, 2)


def _weighed(left: list[str], right: list[str], kind: str = "words") -> list[WeightedSets]:
    sets = [getattr(cut_texts(texts), kind) for texts in (left, right)]
    rarity = fit_rarity(*sets)
    return [weigh(each, rarity) for each in sets]


def test_a_clean_text_has_words_in_lower_case_without_accents_or_signs() -> None:
    assert clean("Café  (R)_MS-Word® v7.0, 3.") == "cafe r ms word v7 0 3"
    assert clean("version 7.0.1") == "version 7.0.1"
    assert clean(None) == clean("") == clean("--") == ""


def test_texts_are_cut_into_words_numbers_and_grams() -> None:
    texts = cut_texts(["cs3 7.0 cs3", None, "ab"])
    np.testing.assert_array_equal(np.diff(texts.words.starts), [2, 0, 1])
    np.testing.assert_array_equal(sorted(texts.words.counts[:2]), [1, 2])
    np.testing.assert_array_equal(np.diff(texts.codes_with_digits.starts), [2, 0, 0])
    np.testing.assert_array_equal(texts.numbers.codes.view(np.float64), [3.0, 7.0])
    np.testing.assert_array_equal(np.diff(texts.grams.starts), [8, 0, 2])
    assert texts.grams.codes[-1] == int.from_bytes(b"ab ", "big")


def test_numbers_in_words_agree_by_value() -> None:
    one, other, third = (cut_texts([text]).numbers.codes for text in ("v7", "7.0", "7.5"))
    assert (one == other).all()
    assert third.view(np.float64)[0] == pytest.approx(7.5)


def test_similarities_of_sets_are_their_definitions() -> None:
    left, right = _random_texts(12, 0), _random_texts(9, 1)
    pairs = _all_pairs(12, 9)
    rarity = idf([*left, *right])
    slow = [set_similarities(left[i], right[j], rarity) for i, j in pairs]
    np.testing.assert_allclose(compare_sets(*_weighed(left, right), pairs), slow)


def test_a_word_that_was_never_counted_is_the_rarest() -> None:
    rarity = fit_rarity(cut_texts(["a b", "a c"]).words)
    known, unknown = cut_texts(["b"]).words.codes, cut_texts(["z"]).words.codes
    assert rarity.of(unknown)[0] > rarity.of(known)[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [("martha", "marhta"), ("dixon", "dicksonx"), ("abc", "xyz"), ("a", "a"), ("abcd", "bcx")],
)
def test_spelling_is_compared_by_definition(one: str, other: str) -> None:
    a, b = (np.frombuffer(word.encode(), dtype=np.uint8) for word in (one, other))
    assert _spelling.jaro_winkler(a, b) == pytest.approx(jaro_winkler(one, other))
    expected = 1 - edit_distance(one, other) / max(len(one), len(other))
    assert _spelling.edit_similarity(a, b) == pytest.approx(expected)


def test_words_of_one_text_are_matched_to_the_nearest_of_the_other() -> None:
    left, right = ["production prem", "same text", ""], ["production premium", "same text", "x"]
    cuts = cut_texts(left), cut_texts(right)
    words = _weighed(left, right)
    pairs = np.array([[0, 0], [1, 1], [2, 2]])
    soft = _spelling.compare_spelling(cuts[0], words[0], cuts[1], words[1], pairs)
    rarity = idf([*left, *right])
    near = jaro_winkler("prem", "premium")
    total = rarity["production"] + rarity["prem"]
    expected = (rarity["production"] + near * rarity["prem"]) / total
    assert soft[0, 0] == pytest.approx(expected)
    np.testing.assert_allclose(soft[1], 1)
    assert np.isnan(soft[2]).all()


def test_numbers_are_compared_by_ratio_and_difference() -> None:
    left, right = np.array([10.0, 0.0, np.nan]), np.array([20.0, 0.0])
    values = compare_numbers(left, right, np.array([[0, 0], [1, 1], [2, 0]]))
    np.testing.assert_allclose(values[0], [0.5, np.log(0.5), -10])
    np.testing.assert_allclose(values[1], 0)
    assert np.isnan(values[2]).all()


@pytest.mark.parametrize("kind", ["words", "grams"])
def test_nearest_records_are_those_of_all_pairs(kind: str) -> None:
    left, right = _random_texts(15, 2), _random_texts(11, 3)
    one, other = _weighed(left, right, kind)
    found = nearest_records(one, other, 4)
    pairs = _all_pairs(15, 11)
    cosine = np.zeros((15, 11))
    cosine[pairs[:, 0], pairs[:, 1]] = np.nan_to_num(compare_sets(one, other, pairs)[:, 0])
    best = -np.sort(-cosine, axis=1)[:, :4]
    np.testing.assert_allclose(found.similarity, best, atol=1e-12)
    rows, places = np.nonzero(found.rows >= 0)
    np.testing.assert_allclose(
        cosine[rows, found.rows[rows, places]], found.similarity[rows, places], atol=1e-12
    )
    assert (best[found.rows < 0] == 0).all()


def test_nobody_is_their_own_neighbour() -> None:
    (words, _) = _weighed(["a b", "a b", "a c"], [])
    found = nearest_records(words, words, 2, one_table=True)
    assert [set(row) for row in found.rows.tolist()] == [{1, 2}, {0, 2}, {0, 1}]


def test_a_common_code_finds_nobody_but_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twofold.matching._neighbours.MOST_POSTINGS", 2)
    one, other = _weighed(["a x"], ["a x", "a y", "a"])
    found = nearest_records(one, other, 3)
    assert found.rows[0].tolist() == [0, -1, -1]
    assert found.similarity[0, 0] == pytest.approx(1)


def test_a_pair_competes_with_other_partners_of_both_records() -> None:
    of_left = Neighbours(np.array([[0, 1]]), np.array([[0.9, 0.6]]))
    of_right = Neighbours(np.array([[0, 3], [3, 0]]), np.array([[0.9, 0.2], [0.7, 0.6]]))
    values = compete(np.array([0.9, 0.6]), np.array([[0, 0], [0, 1]]), of_left, of_right)
    np.testing.assert_allclose(values, [[0.3, 0, 0.7, 0], [-0.3, 1, -0.1, 1]], atol=1e-12)
